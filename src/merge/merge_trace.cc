// The order of a merged file: one process per trace, sorted as the job's traces are; and with excerpts one more in
// front, whose slices say what each window is about, a track per finding. Only one trace's details are held at a time.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "component_numbers.h"
#include "lanes.h"
#include "rank_view.h"
#include "skewscope/base/human_units.h"

namespace skewscope {
namespace merge {
namespace {

constexpr int64_t kSessionStep = 1'000'000;  // rank 3 of session 0 is process 1000003: never 0, which means idle

std::string name_of(const RankTrace& trace, int32_t sessions, const ComponentNumbers& components) {
  std::string name = fmt::format("rank {}", trace.rank.value);
  if (sessions > 1) name += fmt::format(" session {}", trace.session.value);
  if (!trace.host.empty()) name += fmt::format(", {}", trace.host);
  if (components.most() < 2) return name;
  return fmt::format("{}, component {} of {} (clocks not compared)", name, components.of(trace) + 1,
                     components.of_session(trace.session));
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

// In the order of what they show: the worst waits, then findings as the report lists them.
std::vector<MergeWindow> windows_of(const CorrelatedJob& rooms, const Selection& selection, const Lateness& lateness) {
  const MergeOptions& options = selection.options();
  std::vector<MergeWindow> windows = worst_waits(rooms, selection, lateness, options.excerpts);
  for (const MergeWindow& finding : options.findings) windows.push_back(with_margin(finding));
  return windows;
}

std::vector<MergeWindow> by_start(std::vector<MergeWindow> windows) {
  std::stable_sort(windows.begin(), windows.end(),
                   [](const MergeWindow& a, const MergeWindow& b) { return a.start < b.start; });
  return windows;
}

// The slice is the finding itself, without the margin around it.
void write_windows(const std::vector<MergeWindow>& windows, TraceWriter& writer) {
  writer.begin_process(1, "excerpts");
  std::map<std::string, LaneTracks> tracks;
  for (const MergeWindow& window : windows) {
    const std::string ranks = human_ranks(window.ranks);
    Slice slice = slice_of({window.from, window.to}, window.words, "excerpt");
    slice.arguments = {{"finding", window.finding}};
    if (!window.ranks.empty()) slice.arguments.push_back({"ranks", ranks});
    if (window.instance.known()) slice.arguments.push_back({"instance", window.instance.value});
    tracks.try_emplace(window.finding, writer, window.finding, false).first->second.put(slice);
  }
  writer.end_process();
}

}  // namespace
}  // namespace merge

const char* to_string(MergeCategory category) {
  constexpr std::array kNames = {"gpu", "launches", "steps", "annotations", "operators"};
  return kNames[static_cast<size_t>(category)];
}

int64_t MergeResult::shown_ns() const {
  int64_t ns = 0;
  JobNs shown_to{INT64_MIN};
  for (const MergeWindow& window : merge::by_start(windows)) {
    const JobNs from = std::max(window.start, shown_to);
    if (window.end <= from) continue;
    ns += window.end - from;
    shown_to = window.end;
  }
  return ns;
}

Result<MergeResult> merge_trace(const CorrelatedJob& rooms, const MergeOptions& options, const DetailSource& details,
                                TraceFormat format, const std::string& path) {
  const merge::Lateness lateness = merge::find_lateness(rooms);
  const merge::ComponentNumbers components(rooms);
  MergeResult result;
  result.components = components.most();
  merge::Selection selection(rooms, options);
  if (options.has_excerpts()) {
    result.windows = merge::windows_of(rooms, selection, lateness);
    selection.keep_to(result.windows);
  }
  const JobNs zero{rooms.clocks.reference_ns};
  const auto writer_owner =
      format == TraceFormat::json_gz ? merge::make_json_writer(path, zero) : merge::make_pftrace_writer(path, zero);
  merge::TraceWriter& writer = *writer_owner;
  if (options.has_excerpts()) merge::write_windows(merge::by_start(result.windows), writer);

  for (size_t i = 0; i < rooms.job.traces.size(); ++i) {
    const TraceIndex index(static_cast<int64_t>(i));
    if (!selection.has_trace(index)) continue;
    const RankTrace& trace = rooms.job[index];
    writer.begin_process(merge::kSessionStep * (trace.session.value + 1) + trace.rank.value,
                         merge::name_of(trace, rooms.job.sessions, components));
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
