#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "lanes.h"
#include "rank_view.h"

namespace skewscope::merge {
namespace {

// A row of LaunchEvents or of HostEvents.
struct HostRow {
  JobSpan span;
  int32_t launch = -1, host = -1;
};

class HostWriter {
 public:
  HostWriter(const RankView& view, TraceWriter& writer, MergeResult& result)
      : view_(view), trace_(view.trace), writer_(writer), result_(result), launched_(trace_.launches.size()) {
    for (size_t i = 0; i < trace_.gpu.size(); ++i) {
      if (trace_.gpu.launch[i] >= 0) launched_[static_cast<size_t>(trace_.gpu.launch[i])].push_back(i);
    }
  }

  void write_steps() {
    LaneTracks tracks(writer_, "steps", true);
    for (const StepRange& step : trace_.steps) {
      const JobSpan at = view_.span(step.start, step.duration_ns);
      if (!view_.selection.has_step(step.number) || !view_.selection.has(view_.index, at)) continue;
      const std::string name = fmt::format("step {}", step.number);
      Slice slice = slice_of(at, name, "step");
      slice.arguments = {{"step", step.number}};
      tracks.put(slice);
      count(MergeCategory::steps);
    }
  }

  void write_threads() {
    add_launches();
    if (view_.detail != nullptr) add_host_rows();
    for (auto& thread : threads_) {
      std::stable_sort(thread.second.begin(), thread.second.end(), [](const HostRow& a, const HostRow& b) {
        return std::tie(a.span.start, b.span.end) < std::tie(b.span.start, a.span.end);
      });
      LaneTracks tracks(writer_, thread_name(thread.first), true);
      for (const HostRow& row : thread.second) {
        if (row.launch >= 0) {
          write_launch(row, tracks);
        } else {
          write_row(row, tracks);
        }
      }
    }
  }

 private:
  void count(MergeCategory category) { ++result_.events[static_cast<size_t>(category)]; }

  void add_launches() {
    for (size_t i = 0; i < trace_.launches.size(); ++i) {
      if (!view_.has_launch(i)) continue;
      threads_[trace_.launches.thread[i]].push_back({view_.launch_span(i), static_cast<int32_t>(i), -1});
    }
  }

  void add_host_rows() {
    const HostEvents& rows = view_.detail->host;
    for (size_t i = 0; i < rows.size(); ++i) {
      const bool wanted = (rows.kind[i] == HostKind::annotation && view_.wants(MergeCategory::annotations)) ||
                          (rows.kind[i] == HostKind::op && view_.wants(MergeCategory::operators));
      const JobSpan at = view_.span(rows.start[i], rows.duration_ns[i]);
      if (!wanted || !view_.selection.has(view_.index, at) || !view_.selection.has_launched_at(trace_, rows.start[i]))
        continue;
      const HostThread& thread = view_.detail->threads[static_cast<size_t>(rows.thread[i])];
      threads_[thread.thread].push_back({at, -1, static_cast<int32_t>(i)});
    }
  }

  std::string thread_name(int64_t number) const {
    if (view_.detail != nullptr) {
      for (const HostThread& thread : view_.detail->threads) {
        if (thread.thread == number && !thread.name.empty()) return fmt::format("host: {}", thread.name);
      }
    }
    return fmt::format("host: thread {}", number);
  }

  // Named after what it launched: its own name is in no room.
  void write_launch(const HostRow& row, LaneTracks& tracks) {
    const std::vector<size_t>& launched = launched_[static_cast<size_t>(row.launch)];
    const std::string name =
        launched.size() == 1 ? fmt::format("launch {}", view_.rooms.job.strings.view(trace_.gpu.name[launched.front()]))
                             : fmt::format("launch of {} GPU rows", launched.size());
    Slice slice = slice_of(row.span, name, "launch");
    for (const size_t gpu_row : launched) {
      if (view_.has_launch_arrow(gpu_row)) slice.arrows_out.push_back(view_.launch_arrow(gpu_row));
    }
    tracks.put(slice);
    count(MergeCategory::launches);
  }

  void write_row(const HostRow& row, LaneTracks& tracks) {
    const HostEvents& rows = view_.detail->host;
    const auto i = static_cast<size_t>(row.host);
    const bool op = rows.kind[i] == HostKind::op;
    tracks.put(slice_of(row.span, view_.detail_strings->view(rows.name[i]), op ? "cpu_op" : "user_annotation"));
    count(op ? MergeCategory::operators : MergeCategory::annotations);
  }

  const RankView& view_;
  const RankTrace& trace_;
  TraceWriter& writer_;
  MergeResult& result_;
  std::vector<std::vector<size_t>> launched_;        // GPU rows, by launch
  std::map<int64_t, std::vector<HostRow>> threads_;  // by number
};

}  // namespace

void write_host(const RankView& view, TraceWriter& writer, MergeResult& result) {
  HostWriter host(view, writer, result);
  if (view.wants(MergeCategory::steps)) host.write_steps();
  host.write_threads();
}

}  // namespace skewscope::merge
