// Problem: an uncertainty is a claim; a reader wants to see what it is made from.
// Idea: members of an N-to-N collective leave together, so that on the common clock each end's distance from the middle
// member's (the lower one of two) is the clocks' error plus the scatter of the ends themselves.
// Cost: O(calls).
#include "clock_residuals.h"

#include <algorithm>
#include <unordered_map>

#include "collectives/kind.h"
#include "collectives/synchronization.h"

namespace skewscope::report {
namespace {

bool leaves_together(const TimedInstance& instance) {
  const JobReport::CallRow& call = instance.calls.front();
  return call.complete && instance.calls.size() > 1 && ends_together(call.op);
}

int64_t middle_end(std::span<const JobReport::CallRow> calls, std::vector<int64_t>& scratch) {
  scratch.clear();
  for (const JobReport::CallRow& call : calls) scratch.push_back(call.end_ns);
  const auto middle = scratch.begin() + (std::ssize(scratch) - 1) / 2;
  std::nth_element(scratch.begin(), middle, scratch.end());
  return *middle;
}

}  // namespace

ClockResiduals clock_residuals(const std::vector<TimedInstance>& instances) {
  ClockResiduals out;
  std::unordered_map<int32_t, ClockResiduals::Of> by_rank;
  std::vector<int64_t> scratch;
  for (const TimedInstance& instance : instances) {
    if (!leaves_together(instance)) continue;
    const int64_t middle = middle_end(instance.calls, scratch);
    for (const JobReport::CallRow& call : instance.calls) {
      const int64_t residual = call.end_ns - middle, size = std::abs(residual);
      ClockResiduals::Of& of = by_rank[call.rank];
      ++of.count;
      of.sum_ns += residual;
      of.absolute_ns += size;
      of.largest_ns = std::max(of.largest_ns, size);
      const auto bin = std::upper_bound(kResidualEdges.begin(), kResidualEdges.end(), size) - kResidualEdges.begin();
      ++(residual < 0 ? out.before : out.after)[static_cast<size_t>(bin)];
    }
  }
  for (auto& [rank, of] : by_rank) {
    of.rank = rank;
    out.ranks.push_back(of);
  }
  std::sort(out.ranks.begin(), out.ranks.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return out;
}

}  // namespace skewscope::report
