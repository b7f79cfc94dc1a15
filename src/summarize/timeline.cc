// The single-GPU timeline by one sweep over starts and ends of the rows: at each instant the set of running classes
// decides the label (computation, else communication, else copy, else idle). Exact in nanoseconds, O(n log n), no event
// dropped.
#include "timeline.h"

#include <algorithm>
#include <array>

#include "skewscope/base/sort_runs.h"

namespace skewscope::summarize {
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

// Which rows: the k-th of `size()` is row [k].
struct AllRows {
  size_t rows;
  size_t size() const { return rows; }
  size_t operator[](size_t k) const { return k; }
};
struct SomeRows {
  const std::vector<int32_t>& rows;
  size_t size() const { return rows.size(); }
  size_t operator[](size_t k) const { return static_cast<size_t>(rows[k]); }
};

// Ends of rows that last. Rows are sorted by start, so their ends nearly are.
template <class Rows>
std::vector<Edge> ends_of(const GpuEvents& gpu, const Rows& rows) {
  std::vector<Edge> ends;
  ends.reserve(rows.size());
  for (size_t k = 0; k < rows.size(); ++k) {
    const size_t i = rows[k];
    if (gpu.duration_ns[i] > 0) ends.push_back({gpu.start[i].ns + gpu.duration_ns[i], class_of(gpu.work[i])});
  }
  sort_runs(ends, [](const Edge& a, const Edge& b) { return a.ns < b.ns; });
  return ends;
}

// Time passes edge by edge; what ran until then is counted.
struct Sweep {
  RankSummary& s;
  int64_t at;
  std::array<int32_t, 3> running{};

  void pass(const Edge& edge, int32_t change) {
    const int64_t span = edge.ns - at;
    if (running[kCompute] > 0) s.compute_ns += span;
    if (running[kCommunication] > 0) s.communication_ns += span;
    if (running[kCopy] > 0) s.memcpy_ns += span;
    if (running[kCompute] == 0 && running[kCommunication] > 0) s.exposed_communication_ns += span;
    if (running[kCompute] == 0 && running[kCommunication] == 0 && running[kCopy] > 0) s.exposed_memcpy_ns += span;
    running[edge.row] += change;
    at = edge.ns;
  }
};

template <class Rows>
RankSummary sweep(const GpuEvents& gpu, const Rows& rows) {
  RankSummary s;
  if (rows.size() == 0) return s;
  const int64_t first = gpu.start[rows[0]].ns;
  int64_t last = INT64_MIN;
  for (size_t k = 0; k < rows.size(); ++k) {
    const size_t i = rows[k];
    last = std::max(last, gpu.start[i].ns + gpu.duration_ns[i]);
    if (gpu.launch[i] >= 0) continue;
    ++s.orphan_rows;
    s.orphan_ns += gpu.duration_ns[i];
  }
  s.total_ns = last - first;
  Sweep time{s, first};
  size_t k = 0;
  const auto pass_starts_up_to = [&](int64_t ns) {
    for (; k < rows.size() && gpu.start[rows[k]].ns <= ns; ++k) {
      const size_t i = rows[k];
      if (gpu.duration_ns[i] > 0) time.pass({gpu.start[i].ns, class_of(gpu.work[i])}, 1);
    }
  };
  for (const Edge& end : ends_of(gpu, rows)) {
    pass_starts_up_to(end.ns);
    time.pass(end, -1);
  }
  s.busy_ns = s.compute_ns + s.exposed_communication_ns + s.exposed_memcpy_ns;
  s.idle_ns = s.total_ns - s.busy_ns;
  return s;
}

}  // namespace

RankSummary timeline_of(const GpuEvents& gpu) { return sweep(gpu, AllRows{gpu.size()}); }

RankSummary timeline_of(const GpuEvents& gpu, const std::vector<int32_t>& rows) { return sweep(gpu, SomeRows{rows}); }

}  // namespace skewscope::summarize
