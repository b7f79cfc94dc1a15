// Problem: a picture shows that a GPU did nothing; why did it?
//
// Idea: what ended the gap says it, as in the tables of one GPU: the row behind it was launched after the gap had begun
// (the host was late), or in time (it started within kKernelWaitNs, or waited for something else), or has no launch in
// the trace. Where the host was late because it had waited for the GPU until the gap, the wait is the cause. While a
// collective ran on the host, the GPU waited for that, and the collective for its peers.
//
// Why it is right: each of these is a fact of the trace, and a gap is cut only where a call of the host begins or ends.
//
// Cost: one pass over the rows; the launches must still be there.
#include "idle_stretches.h"

#include <algorithm>

#include "skewscope/lanes.h"
#include "skewscope/model/rank_summary.h"

namespace skewscope {
namespace lanes {
namespace {

class IdleCauses {
 public:
  explicit IdleCauses(const RankTrace& trace) : trace_(trace) {}

  // Of a gap that ends with `row`. Gaps are asked for in the order of time.
  IdleCause of(LocalNs gap_begin, size_t row) {
    const int32_t launch = trace_.gpu.launch[row];
    if (launch < 0) return IdleCause::not_recorded;
    const LocalNs launched = trace_.launches.start[static_cast<size_t>(launch)];
    if (launched <= gap_begin) {
      const bool soon = trace_.gpu.start[row] - gap_begin < kKernelWaitNs;
      return soon ? IdleCause::launch_latency : IdleCause::dependency;
    }
    return returned_between(gap_begin, launched) ? IdleCause::synchronization : IdleCause::host;
  }

 private:
  // Whether the host waited for the GPU until the gap, and went on in it.
  bool returned_between(LocalNs gap_begin, LocalNs launched) {
    constexpr size_t kThreads = 8;  // that may wait at the same time
    const Column<SynchronizingCall>& calls = trace_.synchronizing;
    while (next_ < calls.size() && calls[next_].start <= gap_begin) ++next_;
    for (size_t back = 0; back < std::min(kThreads, next_); ++back) {
      const SynchronizingCall& call = calls[next_ - 1 - back];
      const LocalNs end = call.start + call.duration_ns;
      if (end >= gap_begin && end <= launched) return true;
    }
    return false;
  }

  const RankTrace& trace_;
  size_t next_ = 0;
};

// A gap, without what of it a call of the host explains.
class HostCallCutter {
 public:
  explicit HostCallCutter(const RankTrace& trace) : trace_(trace), calls_(calls_beside_gpu(trace)) {}

  void add(IdleStretch gap, std::vector<IdleStretch>& out) {
    while (next_ < calls_.size() && call(next_).end() <= gap.begin) ++next_;
    for (size_t c = next_; c < calls_.size() && call(c).start < gap.end; ++c) {
      const LocalNs from = std::max(gap.begin, call(c).start), to = std::min(gap.end, call(c).end());
      if (from >= to) continue;
      if (gap.begin < from) out.push_back({gap.begin, from, gap.cause});
      out.push_back({from, to, IdleCause::peer_call});
      gap.begin = to;
    }
    if (gap.begin < gap.end) out.push_back(gap);
  }

 private:
  const CollectiveCall& call(size_t c) const { return trace_.calls[static_cast<size_t>(calls_[c])]; }

  const RankTrace& trace_;
  std::vector<int32_t> calls_;
  size_t next_ = 0;
};

}  // namespace

std::vector<IdleStretch> longest_idle_stretches(const RankTrace& trace, size_t most, int64_t& left_out_ns) {
  std::vector<IdleStretch> idle;
  IdleCauses causes(trace);
  HostCallCutter cutter(trace);
  const GpuEvents& gpu = trace.gpu;
  LocalNs until = gpu.size() == 0 ? LocalNs() : gpu.start[0];
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (gpu.start[i] > until) cutter.add({until, gpu.start[i], causes.of(until, i)}, idle);
    until = std::max(until, gpu.start[i] + gpu.duration_ns[i]);
  }
  left_out_ns = 0;
  if (idle.size() <= most) return idle;
  const auto shorter = idle.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(idle.begin(), shorter, idle.end(), [](const IdleStretch& a, const IdleStretch& b) {
    return a.length_ns() != b.length_ns() ? a.length_ns() > b.length_ns() : a.begin < b.begin;
  });
  left_out_ns = shorter->length_ns();
  idle.erase(shorter, idle.end());
  std::sort(idle.begin(), idle.end(), [](const IdleStretch& a, const IdleStretch& b) { return a.begin < b.begin; });
  return idle;
}

}  // namespace lanes

IdleTimes idle_times(const RankTrace& trace, size_t traces) {
  IdleTimes idle;
  idle.stretches =
      lanes::longest_idle_stretches(trace, traces <= kMostLanes ? kMostIdle : kMostIdleOfMany, idle.left_out_ns);
  return idle;
}

}  // namespace skewscope
