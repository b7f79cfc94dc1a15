// The single-GPU timeline by one sweep over starts and ends of the rows: at each instant the set of kinds of work that
// run is known, and the time goes to that set. Every figure is a sum over sets. Exact in nanoseconds, no event dropped.
// A collective that ran on the host is a row of communication that is its own launch: while it runs the GPU waits for
// it, and is not idle. Cost: O(n log k) and memory for k rows that run at once; rows are sorted by start.
#include "gpu_timeline.h"

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

// What the sweep walks: by start.
template <class Which>
class GpuRows {
 public:
  GpuRows(const RankTrace& trace, const Which& which) : trace_(trace), which_(which) {}

  size_t size() const { return which_.size(); }
  int64_t start(size_t k) const { return trace_.gpu.start[which_[k]].ns; }
  int64_t end(size_t k) const { return start(k) + trace_.gpu.duration_ns[which_[k]]; }
  GpuWork work(size_t k) const { return trace_.gpu.work[which_[k]]; }
  bool has_launch(size_t k) const { return trace_.gpu.launch[which_[k]] >= 0; }
  int64_t launched(size_t k) const {  // INT64_MIN: the trace lacks the launch
    return has_launch(k) ? trace_.launches.start[static_cast<size_t>(trace_.gpu.launch[which_[k]])].ns : INT64_MIN;
  }

 private:
  const RankTrace& trace_;
  Which which_;
};

// The same with collectives of the host among them.
class RowsAndHostCalls {
 public:
  template <class Which>
  RowsAndHostCalls(const RankTrace& trace, const GpuRows<Which>& gpu, const std::vector<int32_t>& calls) {
    size_t row = 0;
    for (const int32_t c : calls) {
      const CollectiveCall& call = trace.calls[static_cast<size_t>(c)];
      for (; row < gpu.size() && gpu.start(row) <= call.start.ns; ++row) add_row(gpu, row);
      rows_.push_back({call.start.ns, call.end().ns, call.start.ns, true, GpuWork::communication});
    }
    for (; row < gpu.size(); ++row) add_row(gpu, row);
  }

  size_t size() const { return rows_.size(); }
  int64_t start(size_t k) const { return rows_[k].start; }
  int64_t end(size_t k) const { return rows_[k].end; }
  GpuWork work(size_t k) const { return rows_[k].work; }
  bool has_launch(size_t k) const { return rows_[k].has_launch; }
  int64_t launched(size_t k) const { return rows_[k].launched; }

 private:
  struct Row {
    int64_t start, end, launched;
    bool has_launch;
    GpuWork work;
  };

  template <class Which>
  void add_row(const GpuRows<Which>& gpu, size_t k) {
    rows_.push_back({gpu.start(k), gpu.end(k), gpu.launched(k), gpu.has_launch(k), gpu.work(k)});
  }

  std::vector<Row> rows_;
};

// What of the rows counts: what lies in it.
struct StepWindow {
  int64_t begin = INT64_MIN, end = INT64_MAX;

  bool bounded() const { return begin != INT64_MIN; }
  template <class Rows>
  int64_t start_of(const Rows& rows, size_t k) const {
    return std::max(rows.start(k), begin);
  }
  template <class Rows>
  int64_t end_of(const Rows& rows, size_t k) const {
    return std::min(rows.end(k), end);
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
TimeBySet sweep(const Rows& rows, const StepWindow& window = {}) {
  TimeBySet time;
  if (rows.size() == 0) return time;
  Sweep passing{time, window.bounded() ? window.begin : rows.start(0)};
  const auto later = [](const Edge& a, const Edge& b) { return a.ns > b.ns; };
  std::priority_queue<Edge, std::vector<Edge>, decltype(later)> ends(later);  // of the rows that run
  const auto pass_ends_until = [&](int64_t ns) {
    for (; !ends.empty() && ends.top().ns <= ns; ends.pop()) passing.pass(ends.top(), -1);
  };
  for (size_t k = 0; k < rows.size(); ++k) {
    const int64_t start = window.start_of(rows, k);
    const int64_t end = window.end_of(rows, k);
    if (end <= start) continue;
    pass_ends_until(start);
    passing.pass({start, rows.work(k)}, 1);
    // Mostly a row has ended when the next one starts.
    const bool alone = ends.empty() && k + 1 < rows.size() && end <= window.start_of(rows, k + 1);
    if (alone) {
      passing.pass({end, rows.work(k)}, -1);
    } else {
      ends.push({end, rows.work(k)});
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

// What one pass over the rows tells in addition to the sets that run: sums, and when the last row ends.
struct RowByRow {
  int64_t last = INT64_MIN;
  int64_t host_wait_ns = 0, kernel_wait_ns = 0;
  int64_t orphan_rows = 0, orphan_ns = 0;
};

// Who let the device be idle before a row.
IdleGap::Cause cause_of(int64_t gap_ns, int64_t launched, int64_t busy_until) {
  if (launched > busy_until) return IdleGap::Cause::host_wait;
  return gap_ns < kKernelWaitNs ? IdleGap::Cause::kernel_wait : IdleGap::Cause::other;
}

void charge_gap(int64_t gap_ns, int64_t launched, int64_t busy_until, RowByRow& found) {
  const IdleGap::Cause cause = cause_of(gap_ns, launched, busy_until);
  if (cause == IdleGap::Cause::host_wait) found.host_wait_ns += gap_ns;
  if (cause == IdleGap::Cause::kernel_wait) found.kernel_wait_ns += gap_ns;
}

template <class Rows>
std::vector<IdleGap> gaps_between(const Rows& rows) {
  std::vector<IdleGap> gaps;
  int64_t busy_until = rows.size() == 0 ? 0 : rows.start(0);
  for (size_t k = 0; k < rows.size(); ++k) {
    const int64_t start = rows.start(k);
    if (rows.end(k) > start && start > busy_until) {
      gaps.push_back({LocalNs{busy_until}, LocalNs{start}, cause_of(start - busy_until, rows.launched(k), busy_until)});
    }
    busy_until = std::max(busy_until, rows.end(k));
  }
  return gaps;
}

// There is at least one row.
template <class Rows>
RowByRow pass_over(const Rows& rows, const StepWindow& window) {
  RowByRow found;
  int64_t busy_until = window.bounded() ? window.begin : rows.start(0);
  for (size_t k = 0; k < rows.size(); ++k) {
    const int64_t start = rows.start(k);
    found.last = std::max(found.last, window.end_of(rows, k));
    if (rows.end(k) > start) {
      if (start > busy_until) charge_gap(start - busy_until, rows.launched(k), busy_until, found);
      busy_until = found.last;
    }
    if (rows.has_launch(k)) continue;
    if (start >= window.begin) ++found.orphan_rows;
    found.orphan_ns += std::max<int64_t>(0, window.end_of(rows, k) - window.start_of(rows, k));
  }
  return found;
}

template <class Rows>
RankSummary summary_over(const Rows& rows, const StepWindow& window) {
  constexpr size_t kCompute = set_of(GpuWork::compute) | set_of(GpuWork::memset);
  constexpr size_t kCommunication = set_of(GpuWork::communication), kCopy = set_of(GpuWork::memcpy);
  RankSummary s;
  if (window.bounded()) s.total_ns = s.idle_ns = window.end - window.begin;
  if (rows.size() == 0) return s;
  RowByRow found;
  TimeBySet time;
  tbb::parallel_invoke([&] { found = pass_over(rows, window); }, [&] { time = sweep(rows, window); });
  s.idle_host_wait_ns = found.host_wait_ns;
  s.idle_kernel_wait_ns = found.kernel_wait_ns;
  s.orphan_rows = found.orphan_rows;
  s.orphan_ns = found.orphan_ns;
  if (!window.bounded()) s.total_ns = found.last - rows.start(0);
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

template <class Which>
RankSummary summary_of(const RankTrace& trace, const Which& which, const std::vector<int32_t>& host_calls,
                       const StepWindow& window = {}) {
  const GpuRows<Which> rows(trace, which);
  return host_calls.empty() ? summary_over(rows, window)
                            : summary_over(RowsAndHostCalls(trace, rows, host_calls), window);
}

}  // namespace

std::vector<IdleGap> idle_gaps(const RankTrace& trace) {
  const GpuRows<AllRows> rows(trace, {trace.gpu.size()});
  const std::vector<int32_t> host_calls = calls_beside_gpu(trace);
  return host_calls.empty() ? gaps_between(rows) : gaps_between(RowsAndHostCalls(trace, rows, host_calls));
}

TimeBySet time_by_set(const RankTrace& trace) {
  const GpuRows<AllRows> rows(trace, {trace.gpu.size()});
  const std::vector<int32_t> host_calls = calls_beside_gpu(trace);
  return host_calls.empty() ? sweep(rows) : sweep(RowsAndHostCalls(trace, rows, host_calls));
}

RankSummary timeline_of(const RankTrace& trace) {
  return summary_of(trace, AllRows{trace.gpu.size()}, calls_beside_gpu(trace));
}

RankSummary timeline_of(const RankTrace& trace, const std::vector<int32_t>& rows) {
  return summary_of(trace, SomeRows{rows}, {});
}

RankSummary timeline_between(const RankTrace& trace, const std::vector<int32_t>& rows,
                             const std::vector<int32_t>& host_calls, LocalNs begin, LocalNs end) {
  return summary_of(trace, SomeRows{rows}, host_calls, StepWindow{begin.ns, end.ns});
}

}  // namespace skewscope::summarize
