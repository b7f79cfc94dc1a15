// The single-GPU timeline by one sweep over the sorted rows' edges: at each instant the set of running classes decides
// the label (computation, else communication, else copy, else idle). Exact in nanoseconds, O(n log n), no event
// dropped.

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>

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

struct Edge {
  int64_t ns;
  int32_t change;  // +1 start, -1 end
  Class running;
};

std::vector<Edge> edges_of(const GpuEvents& gpu) {
  std::vector<Edge> edges;
  edges.reserve(2 * gpu.size());
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (gpu.duration_ns[i] == 0) continue;
    const Class c = class_of(gpu.work[i]);
    edges.push_back({gpu.start[i].ns, 1, c});
    edges.push_back({gpu.start[i].ns + gpu.duration_ns[i], -1, c});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.ns < b.ns; });
  return edges;
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
  for (const Edge& edge : edges_of(gpu)) {
    const int64_t span = edge.ns - at;
    if (running[kCompute] > 0) s.compute_ns += span;
    if (running[kCommunication] > 0) s.communication_ns += span;
    if (running[kCompute] == 0 && running[kCommunication] > 0) s.exposed_communication_ns += span;
    if (running[kCompute] == 0 && running[kCommunication] == 0 && running[kCopy] > 0) s.exposed_memcpy_ns += span;
    running[edge.running] += edge.change;
    at = edge.ns;
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
