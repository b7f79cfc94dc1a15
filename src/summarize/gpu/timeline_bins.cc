// The timeline over time. What ran in a part of the window is the timeline between its edges; a gap across an edge
// belongs to each part with its share, and its cause is that of the whole gap, which a part alone cannot tell.
#include <algorithm>

#include "gpu_timeline.h"
#include "rank_tables.h"

namespace skewscope::summarize {
namespace {

constexpr int64_t kTimelineBins = 400;

std::vector<StepSpan> equal_parts(LocalNs begin, LocalNs end) {
  const int64_t window_ns = end - begin;
  const int64_t length_ns = std::max<int64_t>((window_ns + kTimelineBins - 1) / kTimelineBins, 1);
  std::vector<StepSpan> parts;
  for (int64_t from = 0; from < window_ns; from += length_ns) {
    StepSpan& part = parts.emplace_back();
    part.begin = begin + from;
    part.end = begin + std::min(from + length_ns, window_ns);
  }
  return parts;
}

void add_gap(const IdleGap& gap, const std::vector<StepSpan>& parts, std::vector<TimelineBin>& bins) {
  if (gap.cause == IdleGap::Cause::other) return;
  const auto first = std::upper_bound(parts.begin(), parts.end(), gap.begin,
                                      [](LocalNs t, const StepSpan& part) { return t < part.end; });
  for (auto part = first; part != parts.end() && part->begin < gap.end; ++part) {
    RankSummary& timeline = bins[static_cast<size_t>(part - parts.begin())].timeline;
    const int64_t ns = std::min(gap.end, part->end) - std::max(gap.begin, part->begin);
    (gap.cause == IdleGap::Cause::host_wait ? timeline.idle_host_wait_ns : timeline.idle_kernel_wait_ns) += ns;
  }
}

}  // namespace

std::vector<TimelineBin> timeline_bins(const RankTrace& trace) {
  if (trace.gpu.size() == 0) return {};
  LocalNs begin = trace.gpu.start[0], end = begin;
  for (size_t i = 0; i < trace.gpu.size(); ++i) end = std::max(end, trace.gpu.start[i] + trace.gpu.duration_ns[i]);
  for (const int32_t c : calls_beside_gpu(trace)) {
    begin = std::min(begin, trace.calls[static_cast<size_t>(c)].start);
    end = std::max(end, trace.calls[static_cast<size_t>(c)].end());
  }
  const std::vector<StepSpan> parts = equal_parts(begin, end);
  std::vector<TimelineBin> bins;
  for (RankSummary& timeline : timelines_of(trace, parts)) {
    timeline.idle_host_wait_ns = timeline.idle_kernel_wait_ns = 0;
    bins.push_back({parts[bins.size()].begin - trace.first_event, timeline});
  }
  for (const IdleGap& gap : idle_gaps(trace)) add_gap(gap, parts, bins);
  return bins;
}

}  // namespace skewscope::summarize
