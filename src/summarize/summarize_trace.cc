// The single-GPU timeline by one sweep over starts and ends of the rows: at each instant the set of running classes
// decides the label (computation, else communication, else copy, else idle). Exact in nanoseconds, O(n log n), no event
// dropped.

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>

#include "skewscope/base/sort_runs.h"
#include "skewscope/summarize.h"

namespace skewscope {
namespace {

enum Class : uint8_t { kCompute, kCommunication, kCopy };

Class class_of(GpuWork work) {
  switch (work) {
    case GpuWork::compute:
    case GpuWork::memset:
      return kCompute;
    case GpuWork::communication:
      return kCommunication;
    case GpuWork::memcpy:
      return kCopy;
  }
  return kCompute;
}

// A row of the GPU starts or ends.
struct Edge {
  int64_t ns;
  Class row;
};

Edge start_of(const GpuEvents& gpu, size_t i) { return {gpu.start[i].ns, class_of(gpu.work[i])}; }

// Ends of rows that last. Rows are sorted by start, so their ends nearly are.
std::vector<Edge> ends_of(const GpuEvents& gpu) {
  std::vector<Edge> ends;
  ends.reserve(gpu.size());
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (gpu.duration_ns[i] > 0) ends.push_back({gpu.start[i].ns + gpu.duration_ns[i], class_of(gpu.work[i])});
  }
  sort_runs(ends, [](const Edge& a, const Edge& b) { return a.ns < b.ns; });
  return ends;
}

}  // namespace

RankSummary summarize_trace(const RankTrace& trace) {
  const GpuEvents& gpu = trace.gpu;
  RankSummary s;
  if (gpu.size() == 0) return s;
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (size_t i = 0; i < gpu.size(); ++i) {
    first = std::min(first, gpu.start[i].ns);
    last = std::max(last, gpu.start[i].ns + gpu.duration_ns[i]);
    if (gpu.launch[i] >= 0) continue;
    ++s.orphan_rows;
    s.orphan_ns += gpu.duration_ns[i];
  }
  s.total_ns = last - first;
  std::array<int32_t, 3> running{};
  int64_t at = first;
  const auto pass = [&](const Edge& edge, int32_t change) {
    const int64_t span = edge.ns - at;
    if (running[kCompute] > 0) s.compute_ns += span;
    if (running[kCommunication] > 0) s.communication_ns += span;
    if (running[kCompute] == 0 && running[kCommunication] > 0) s.exposed_communication_ns += span;
    if (running[kCompute] == 0 && running[kCommunication] == 0 && running[kCopy] > 0) s.exposed_memcpy_ns += span;
    running[edge.row] += change;
    at = edge.ns;
  };
  size_t row = 0;
  const auto pass_starts_up_to = [&](int64_t ns) {
    for (; row < gpu.size() && gpu.start[row].ns <= ns; ++row) {
      if (gpu.duration_ns[row] > 0) pass(start_of(gpu, row), 1);
    }
  };
  for (const Edge& end : ends_of(gpu)) {
    pass_starts_up_to(end.ns);
    pass(end, -1);
  }
  s.busy_ns = s.compute_ns + s.exposed_communication_ns + s.exposed_memcpy_ns;
  s.idle_ns = s.total_ns - s.busy_ns;
  return s;
}

std::vector<RankSummary> summarize_job(const JobTrace& job) {
  std::vector<RankSummary> summaries(job.traces.size());
  tbb::parallel_for(size_t{0}, job.traces.size(), [&](size_t t) { summaries[t] = summarize_trace(job.traces[t]); });
  return summaries;
}

}  // namespace skewscope
