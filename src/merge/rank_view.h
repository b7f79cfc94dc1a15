// One trace and what is asked of it: which of its rows are written, where they lie, and the ids of their arrows.
#pragma once

#include <string_view>
#include <vector>

#include "lateness.h"
#include "trace_writer.h"

namespace skewscope::merge {

struct RankView {
  const CorrelatedJob& rooms;
  const Selection& selection;
  const Lateness& lateness;
  TraceIndex index;
  const RankTrace& trace;
  std::vector<int32_t> call_of;        // by GPU row: row in RankTrace::calls; -1: no collective
  const RankDetail* detail = nullptr;  // null: none wanted, or none there
  const StringTable* detail_strings = nullptr;

  RankView(const CorrelatedJob& r, const Selection& s, const Lateness& l, TraceIndex t)
      : rooms(r), selection(s), lateness(l), index(t), trace(r.job[t]), call_of(trace.gpu.size(), -1) {
    for (size_t c = 0; c < trace.calls.size(); ++c) {
      if (trace.calls[c].gpu_row >= 0) call_of[static_cast<size_t>(trace.calls[c].gpu_row)] = static_cast<int32_t>(c);
    }
  }

  bool wants(MergeCategory category) const { return selection.options().wants(category); }
  const Membership& membership(size_t call) const { return lateness.calls[index.index()][call]; }
  bool is_split(const Membership& at) const {
    return at.instance >= 0 &&
           rooms.decomposition.instances[static_cast<size_t>(at.instance)].reason == SplitReason::split;
  }

  JobSpan span(LocalNs start, int64_t duration_ns) const { return span_of(rooms, index, start, duration_ns); }
  JobSpan gpu_span(size_t row) const {
    const int32_t call = call_of[row];
    return call >= 0 ? span_of(rooms, index, trace.calls[static_cast<size_t>(call)])
                     : span(trace.gpu.start[row], trace.gpu.duration_ns[row]);
  }
  JobSpan launch_span(size_t row) const { return span(trace.launches.start[row], trace.launches.duration_ns[row]); }

  bool has_gpu_row(size_t row) const {
    return wants(MergeCategory::gpu) && selection.has_gpu_row(index, row, gpu_span(row));
  }
  bool has_launch(size_t row) const {
    return wants(MergeCategory::launches) && selection.has(index, launch_span(row)) &&
           selection.has_launched_at(trace, trace.launches.start[row]);
  }

  // Both are written, and the clocks of host and GPU agree on who was first.
  bool has_launch_arrow(size_t gpu_row) const {
    const int32_t launch = trace.gpu.launch[gpu_row];
    return launch >= 0 && has_gpu_row(gpu_row) && has_launch(static_cast<size_t>(launch)) &&
           launch_span(static_cast<size_t>(launch)).start <= gpu_span(gpu_row).start;
  }
  // From a launch to a GPU row of this trace; 0 in the upper bits is left to arrows between ranks.
  uint64_t launch_arrow(size_t gpu_row) const { return (static_cast<uint64_t>(index.value) + 1) << 40 | gpu_row; }
  // From the one that was late to the transfer of the member it released.
  static uint64_t release_arrow(int32_t member) { return static_cast<uint64_t>(member) + 1; }
};

inline Slice slice_of(const JobSpan& at, std::string_view name, std::string_view category) {
  return {at.start, at.end - at.start, name, category, {}, {}, {}};
}

// Steps, annotations, operators and launches of the host, a track per thread.
void write_host(const RankView& view, TraceWriter& writer, MergeResult& result);
// Lateness, and a track per stream with what ran there.
void write_gpu(const RankView& view, TraceWriter& writer, MergeResult& result);

}  // namespace skewscope::merge
