// A call that waits for the GPU covers work that runs anyway; what it costs is the gap that follows, in which the host
// begins to launch again. So next to the length of such a call are two other figures: the GPU work that ran while it
// waited, and the gap in which it returned, where there was such work. Gaps are those of the union of all GPU rows,
// found by binary search.
#include "host_calls.h"

#include <algorithm>
#include <unordered_map>

#include "profiler_work.h"

namespace skewscope::summarize {
namespace {

struct Busy {
  LocalNs start, end;
  int64_t before_ns;  // busy time of the intervals before this one
};

// Union of the GPU rows; touching ones merge.
std::vector<Busy> busy_of(const GpuEvents& gpu) {
  std::vector<Busy> busy;
  for (size_t i = 0; i < gpu.size(); ++i) {
    const LocalNs start = gpu.start[i], end = start + gpu.duration_ns[i];
    if (end == start) continue;
    if (!busy.empty() && start <= busy.back().end) {
      busy.back().end = std::max(busy.back().end, end);
      continue;
    }
    const int64_t before = busy.empty() ? 0 : busy.back().before_ns + (busy.back().end - busy.back().start);
    busy.push_back({start, end, before});
  }
  return busy;
}

// First interval that begins after `t`.
size_t next_after(const std::vector<Busy>& busy, LocalNs t) {
  const auto next =
      std::upper_bound(busy.begin(), busy.end(), t, [](LocalNs time, const Busy& b) { return time < b.start; });
  return static_cast<size_t>(next - busy.begin());
}

int64_t busy_before(const std::vector<Busy>& busy, LocalNs t) {
  const size_t next = next_after(busy, t);
  if (next == 0) return 0;
  const Busy& last = busy[next - 1];
  return last.before_ns + (std::min(t, last.end) - last.start);
}

bool in_a_step(const std::vector<StepRange>& steps, LocalNs t) {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), t, [](LocalNs time, const StepRange& s) { return time < s.start; });
  return after != steps.begin() && t < std::prev(after)->start + std::prev(after)->duration_ns;
}

}  // namespace

bool waits_for_gpu(std::string_view name) {
  return name.find("Synchronize") != std::string_view::npos || name == "cudaMemcpy" || name == "hipMemcpy" ||
         name == "hipMemcpyWithStream" || name == "cudaFree" || name == "hipFree";
}

std::vector<HostCallTotals> host_call_totals(const RankTrace& trace, const HostEvents& host, HostKind kind,
                                             const StringTable& strings) {
  const std::vector<Busy> busy = busy_of(trace.gpu);
  std::vector<bool> gap_counted(busy.size() + 1, false);  // the gap before interval i
  const int32_t flush = kind == HostKind::call ? final_flush(trace, host, strings) : -1;
  std::unordered_map<StringId, HostCallTotals> by_name;
  for (size_t i = 0; i < host.size(); ++i) {
    if (host.kind[i] != kind) continue;
    const auto [known, first] = by_name.try_emplace(host.name[i]);
    HostCallTotals& calls = known->second;
    if (first) {
      calls.name = strings.view(host.name[i]);
      calls.waits = waits_for_gpu(calls.name);
    }
    ++calls.count;
    calls.total_ns += host.duration_ns[i];
    calls.longest_ns = std::max(calls.longest_ns, host.duration_ns[i]);
    const bool is_flush = static_cast<int32_t>(i) == flush;
    if (is_flush) {
      ++calls.profiler_calls;
      calls.profiler_ns += host.duration_ns[i];
    }
    const bool in_step = !is_flush && (trace.steps.empty() || in_a_step(trace.steps, host.start[i]));
    calls.in_steps += in_step;
    if (in_step) calls.in_steps_ns += host.duration_ns[i];
    if (!calls.waits) continue;
    const LocalNs end = host.end(i);
    const int64_t covered_ns = busy_before(busy, end) - busy_before(busy, host.start[i]);
    calls.covered_ns += covered_ns;
    if (covered_ns == 0) continue;  // the GPU had nothing to do already
    const size_t next = next_after(busy, end);
    const bool idle = next > 0 && next < busy.size() && busy[next - 1].end <= end;
    if (!idle || gap_counted[next]) continue;
    gap_counted[next] = true;
    const int64_t gap_ns = busy[next].start - busy[next - 1].end;
    calls.idle_after_ns += gap_ns;
    if (in_step) calls.in_steps_idle_after_ns += gap_ns;
  }
  std::vector<HostCallTotals> sorted;
  for (auto& [name, calls] : by_name) sorted.push_back(std::move(calls));
  std::sort(sorted.begin(), sorted.end(), [](const HostCallTotals& a, const HostCallTotals& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
  });
  return sorted;
}

}  // namespace skewscope::summarize
