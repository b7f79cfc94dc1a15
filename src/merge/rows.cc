#include "rows.h"

#include <algorithm>

namespace skewscope::merge {

JobSpan span_of(const CorrelatedJob& rooms, TraceIndex trace, LocalNs start, int64_t duration_ns) {
  return {rooms.clocks.to_job(trace, start), rooms.clocks.to_job(trace, start + duration_ns)};
}

JobSpan span_of(const CorrelatedJob& rooms, TraceIndex trace, const CollectiveCall& call) {
  const JobNs start = rooms.clocks.to_job(trace, call.start);
  return {start, start + call.duration_ns};
}

bool Selection::has_trace(TraceIndex trace) const {
  const std::vector<int32_t>& ranks = options_.ranks;
  return ranks.empty() || std::find(ranks.begin(), ranks.end(), rooms_.job[trace].rank.value) != ranks.end();
}

void Selection::keep_to(const std::vector<MergeWindow>& windows) {
  kept_.emplace();
  for (const RankTrace& trace : rooms_.job.traces) {
    std::vector<JobSpan> spans;
    for (const MergeWindow& w : windows) {
      const bool all = w.ranks.empty();
      if (all || std::binary_search(w.ranks.begin(), w.ranks.end(), trace.rank.value))
        spans.push_back({w.start, w.end});
    }
    std::sort(spans.begin(), spans.end(), [](const JobSpan& a, const JobSpan& b) { return a.start < b.start; });
    std::vector<JobSpan>& apart = kept_->emplace_back();
    for (const JobSpan& span : spans) {
      if (apart.empty() || apart.back().end < span.start) apart.push_back(span);
      apart.back().end = std::max(apart.back().end, span.end);
    }
  }
}

// Touches a window.
bool Selection::has(TraceIndex trace, const JobSpan& span) const {
  if (!kept_) return true;
  const std::vector<JobSpan>& kept = (*kept_)[trace.index()];
  const auto window = std::lower_bound(kept.begin(), kept.end(), span.start,
                                       [](const JobSpan& w, JobNs start) { return w.end < start; });
  return window != kept.end() && window->start <= span.end;
}

bool Selection::has_step(int64_t number) const {
  return !options_.steps || (number >= options_.steps->first && number < options_.steps->second);
}

bool Selection::has_gpu_row(TraceIndex index, size_t row, const JobSpan& span) const {
  if (!has_trace(index) || !has(index, span)) return false;
  const RankTrace& trace = rooms_.job[index];
  const int32_t launch = trace.gpu.launch[row];
  return has_step(launch < 0 ? -1 : step_at(trace, trace.launches.start[static_cast<size_t>(launch)]));
}

bool Selection::has_call(const CallRef& ref) const {
  const CollectiveCall& call = rooms_.job[ref.trace].calls[static_cast<size_t>(ref.call)];
  const JobSpan span = span_of(rooms_, ref.trace, call);
  if (call.gpu_row >= 0) return has_gpu_row(ref.trace, static_cast<size_t>(call.gpu_row), span);
  return has_trace(ref.trace) && has(ref.trace, span) && has_step(call.step);
}

// As ingest counts them: outside every step is step -1.
int64_t Selection::step_at(const RankTrace& trace, LocalNs t) {
  const auto after = std::upper_bound(trace.steps.begin(), trace.steps.end(), t,
                                      [](LocalNs time, const StepRange& step) { return time < step.start; });
  if (after == trace.steps.begin()) return -1;
  const StepRange& step = *std::prev(after);
  return t < step.start + step.duration_ns ? step.number : -1;
}

}  // namespace skewscope::merge
