// The order of a merged file: one process per trace, sorted as the job's traces are; and with excerpts one more in
// front, whose slices say what each window is about. Only one trace's details are held at a time.
#include <fmt/format.h>

#include "rank_view.h"

namespace skewscope {
namespace merge {
namespace {

constexpr int64_t kSessionStep = 1'000'000;  // rank 3 of session 0 is process 1000003: never 0, which means idle

std::string name_of(const RankTrace& trace, int32_t sessions) {
  std::string name = fmt::format("rank {}", trace.rank.value);
  if (sessions > 1) name += fmt::format(" session {}", trace.session.value);
  return trace.host.empty() ? name : fmt::format("{}, {}", name, trace.host);
}

// Runs `write` once, while the view has the details where they are wanted. False where they are wanted and not there.
Result<bool> show_details(RankView& view, const DetailSource& details, const std::function<void()>& write) {
  if (!view.selection.options().wants_details()) {
    write();
    return true;
  }
  Result<bool> shown = details(view.trace, [&](const RankDetail& detail, const StringTable& strings) {
    view.detail = &detail;
    view.detail_strings = &strings;
    write();
  });
  view.detail = nullptr;
  if (shown.ok() && !shown.value()) write();
  return shown;
}

void write_windows(const MergeRooms& rooms, const std::vector<MergeWindow>& windows, TraceWriter& writer) {
  writer.begin_process(1, "excerpts");
  const TrackId track = writer.track("worst waits");
  for (const MergeWindow& window : windows) {
    const CollectiveInstance& instance = rooms.instances.instances[window.instance.index()];
    const std::string name = fmt::format("instance {}: {}", window.instance.value, to_string(instance.kind));
    Slice slice;
    slice.start = window.start;
    slice.duration_ns = window.end - window.start;
    slice.name = name;
    slice.category = "excerpt";
    slice.arguments = {{"instance", window.instance.value}};
    writer.slice(track, slice);
  }
  writer.end_process();
}

}  // namespace
}  // namespace merge

const char* to_string(MergeCategory category) {
  constexpr std::array kNames = {"gpu", "launches", "steps", "annotations", "operators"};
  return kNames[static_cast<size_t>(category)];
}

Result<MergeResult> merge_trace(const MergeRooms& rooms, const MergeOptions& options, const DetailSource& details,
                                TraceFormat format, const std::string& path) {
  const merge::Lateness lateness = merge::find_lateness(rooms);
  MergeResult result;
  merge::Selection selection(rooms, options);
  if (options.excerpts > 0) {
    result.windows = merge::worst_waits(rooms, selection, lateness, options.excerpts);
    selection.keep_to(result.windows);
  }
  const JobNs zero{rooms.clocks.reference_ns};
  const auto writer_owner =
      format == TraceFormat::json_gz ? merge::make_json_writer(path, zero) : merge::make_pftrace_writer(path, zero);
  merge::TraceWriter& writer = *writer_owner;
  if (options.excerpts > 0) merge::write_windows(rooms, result.windows, writer);

  for (size_t i = 0; i < rooms.job.traces.size(); ++i) {
    const TraceIndex index(static_cast<int64_t>(i));
    if (!selection.has_trace(index)) continue;
    const RankTrace& trace = rooms.job[index];
    writer.begin_process(merge::kSessionStep * (trace.session.value + 1) + trace.rank.value,
                         merge::name_of(trace, rooms.job.sessions));
    merge::RankView view(rooms, selection, lateness, index);
    const auto detailed = merge::show_details(view, details, [&] {
      // Launches first: of two that begin together, Perfetto lets an arrow begin at the one that was written first.
      merge::write_host(view, writer, result);
      merge::write_gpu(view, writer, result);
    });
    if (!detailed.ok()) return detailed.error();
    if (!detailed.value()) result.without_details.push_back(trace.file);
    writer.end_process();
    ++result.traces;
  }
  if (auto closed = writer.close(); !closed.ok()) return closed.error();
  return result;
}

}  // namespace skewscope
