#include "arrival_needed.h"

#include <algorithm>

#include "collectives/synchronization.h"

namespace skewscope::blame {
namespace {

// Position of the root, or of the sender; -1: not there or not recorded.
int64_t special_member(const JobView& view, size_t id, Dependency dependency) {
  const CollectiveInstance& i = view.instance(id);
  for (uint32_t m = 0; m < i.member_count; ++m) {
    const CollectiveCall& call = view.call(i.first_member + m);
    const bool is_it = dependency == Dependency::sender
                           ? call.kind == CollectiveKind::send
                           : call.root.known() && call.root == view.job[view.ref(i.first_member + m).trace].rank;
    if (is_it) return m;
  }
  return -1;
}

}  // namespace

std::vector<int64_t> arrivals_needed(const JobView& view, size_t id, const std::vector<int64_t>& starts) {
  const Dependency dependency = dependency_of(view.instance(id).kind);
  std::vector<int64_t> needed = starts;
  const int64_t last = *std::max_element(starts.begin(), starts.end());
  if (dependency == Dependency::everyone) {
    needed.assign(starts.size(), last);
    return needed;
  }
  const int64_t special = dependency == Dependency::none ? -1 : special_member(view, id, dependency);
  if (special < 0) return needed;
  if (dependency == Dependency::root_waits) {
    needed[static_cast<size_t>(special)] = last;
    return needed;
  }
  for (int64_t& start : needed) start = std::max(start, starts[static_cast<size_t>(special)]);
  return needed;
}

}  // namespace skewscope::blame
