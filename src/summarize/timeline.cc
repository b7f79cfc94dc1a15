// The single-GPU timeline by one sweep over starts and ends of the rows: at each instant the set of kinds of work that
// run is known, and the time goes to that set. Every figure is a sum over sets. Exact in nanoseconds, no event dropped.
// Cost: O(n log k) and memory for k rows that run at once; rows are sorted by start.
#include "timeline.h"

#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <queue>
#include <vector>

namespace skewscope::summarize {
namespace {

// A row of the GPU starts or ends.
struct Edge {
  int64_t ns;
  GpuWork work;
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

// What of the rows counts: what lies in it.
struct StepWindow {
  int64_t begin = INT64_MIN, end = INT64_MAX;

  bool bounded() const { return begin != INT64_MIN; }
  int64_t start_of(const GpuEvents& gpu, size_t row) const { return std::max(gpu.start[row].ns, begin); }
  int64_t end_of(const GpuEvents& gpu, size_t row) const {
    return std::min(gpu.start[row].ns + gpu.duration_ns[row], end);
  }
};

// Time passes edge by edge; it goes to what ran until then.
struct Sweep {
  TimeBySet& time;
  int64_t at;
  size_t set = 0;
  std::array<int32_t, kWorks> running{};

  void pass(const Edge& edge, int32_t change) {
    const int64_t span = edge.ns - at;
    time.ns[set] += span;
    if (set == 0 && span < kMicroIdleNs) time.micro_idle_ns += span;
    const auto work = static_cast<size_t>(edge.work);
    running[work] += change;
    set = running[work] > 0 ? set | set_of(edge.work) : set & ~set_of(edge.work);
    at = edge.ns;
  }
};

template <class Rows>
TimeBySet sweep(const GpuEvents& gpu, const Rows& rows, const StepWindow& window = {}) {
  TimeBySet time;
  if (rows.size() == 0) return time;
  Sweep passing{time, window.bounded() ? window.begin : gpu.start[rows[0]].ns};
  const auto later = [](const Edge& a, const Edge& b) { return a.ns > b.ns; };
  std::priority_queue<Edge, std::vector<Edge>, decltype(later)> ends(later);  // of the rows that run
  const auto pass_ends_until = [&](int64_t ns) {
    for (; !ends.empty() && ends.top().ns <= ns; ends.pop()) passing.pass(ends.top(), -1);
  };
  for (size_t k = 0; k < rows.size(); ++k) {
    const size_t i = rows[k];
    const int64_t start = window.start_of(gpu, i);
    const int64_t end = window.end_of(gpu, i);
    if (end <= start) continue;
    pass_ends_until(start);
    passing.pass({start, gpu.work[i]}, 1);
    // Mostly a row has ended when the next one starts.
    const bool alone = ends.empty() && k + 1 < rows.size() && end <= window.start_of(gpu, rows[k + 1]);
    if (alone) {
      passing.pass({end, gpu.work[i]}, -1);
    } else {
      ends.push({end, gpu.work[i]});
    }
  }
  pass_ends_until(INT64_MAX);
  return time;
}

// Time in the sets that hold some of `some` and nothing of `none`.
int64_t time_with(const TimeBySet& time, size_t some, size_t none = 0) {
  int64_t ns = 0;
  for (size_t set = 0; set < time.ns.size(); ++set) {
    if ((set & some) != 0 && (set & none) == 0) ns += time.ns[set];
  }
  return ns;
}

// What one pass over the rows tells beside the sets that run: sums, and when the last row ends.
struct RowByRow {
  int64_t last = INT64_MIN;
  int64_t host_wait_ns = 0, kernel_wait_ns = 0;
  int64_t orphan_rows = 0, orphan_ns = 0;
};

// Who let the device stand still before this row; what is left has another cause.
void charge_gap(const RankTrace& trace, size_t row, int64_t busy_until, RowByRow& found) {
  const int64_t gap_ns = trace.gpu.start[row].ns - busy_until;
  const int32_t launch = trace.gpu.launch[row];
  if (launch >= 0 && trace.launches.start[static_cast<size_t>(launch)].ns > busy_until) {
    found.host_wait_ns += gap_ns;
  } else if (gap_ns < kKernelWaitNs) {
    found.kernel_wait_ns += gap_ns;
  }
}

// There is at least one row.
template <class Rows>
RowByRow pass_over(const RankTrace& trace, const Rows& rows, const StepWindow& window) {
  const GpuEvents& gpu = trace.gpu;
  RowByRow found;
  int64_t busy_until = window.bounded() ? window.begin : gpu.start[rows[0]].ns;
  for (size_t k = 0; k < rows.size(); ++k) {
    const size_t i = rows[k];
    found.last = std::max(found.last, window.end_of(gpu, i));
    if (gpu.duration_ns[i] > 0) {
      if (gpu.start[i].ns > busy_until) charge_gap(trace, i, busy_until, found);
      busy_until = found.last;
    }
    if (gpu.launch[i] >= 0) continue;
    if (gpu.start[i].ns >= window.begin) ++found.orphan_rows;
    found.orphan_ns += std::max<int64_t>(0, window.end_of(gpu, i) - window.start_of(gpu, i));
  }
  return found;
}

template <class Rows>
RankSummary summary_of(const RankTrace& trace, const Rows& rows, const StepWindow& window = {}) {
  const GpuEvents& gpu = trace.gpu;
  constexpr size_t kCompute = set_of(GpuWork::compute) | set_of(GpuWork::memset);
  constexpr size_t kCommunication = set_of(GpuWork::communication), kCopy = set_of(GpuWork::memcpy);
  RankSummary s;
  if (window.bounded()) s.total_ns = s.idle_ns = window.end - window.begin;
  if (rows.size() == 0) return s;
  RowByRow found;
  TimeBySet time;
  tbb::parallel_invoke([&] { found = pass_over(trace, rows, window); }, [&] { time = sweep(gpu, rows, window); });
  s.idle_host_wait_ns = found.host_wait_ns;
  s.idle_kernel_wait_ns = found.kernel_wait_ns;
  s.orphan_rows = found.orphan_rows;
  s.orphan_ns = found.orphan_ns;
  if (!window.bounded()) s.total_ns = found.last - gpu.start[rows[0]].ns;
  s.compute_ns = time_with(time, kCompute);
  s.communication_ns = time_with(time, kCommunication);
  s.memcpy_ns = time_with(time, kCopy);
  s.exposed_communication_ns = time_with(time, kCommunication, kCompute);
  s.exposed_memcpy_ns = time_with(time, kCopy, kCompute | kCommunication);
  s.busy_ns = s.compute_ns + s.exposed_communication_ns + s.exposed_memcpy_ns;
  s.idle_ns = s.total_ns - s.busy_ns;
  s.micro_idle_ns = time.micro_idle_ns;
  return s;
}

}  // namespace

TimeBySet time_by_set(const GpuEvents& gpu) { return sweep(gpu, AllRows{gpu.size()}); }

RankSummary timeline_of(const RankTrace& trace) { return summary_of(trace, AllRows{trace.gpu.size()}); }

RankSummary timeline_of(const RankTrace& trace, const std::vector<int32_t>& rows) {
  return summary_of(trace, SomeRows{rows});
}

RankSummary timeline_between(const RankTrace& trace, const std::vector<int32_t>& rows, LocalNs begin, LocalNs end) {
  return summary_of(trace, SomeRows{rows}, StepWindow{begin.ns, end.ns});
}

}  // namespace skewscope::summarize
