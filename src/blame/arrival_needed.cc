#include "arrival_needed.h"

#include "collectives/synchronization.h"

namespace skewscope::blame {
namespace {

// Row of the root, or of the sender; -1: not there or not recorded.
int64_t special_row(const JobView& view, size_t id, Dependency dependency) {
  const CollectiveInstance& i = view.instance(id);
  for (size_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
    const CollectiveCall& call = view.call(row);
    const bool is_it = dependency == Dependency::sender
                           ? call.kind == CollectiveKind::send
                           : call.root.known() && call.root == view.job[view.ref(row).trace].rank;
    if (is_it) return static_cast<int64_t>(row);
  }
  return -1;
}

}  // namespace

WaitRule wait_rule(const JobView& view, size_t id) {
  const Dependency dependency = dependency_of(view.instance(id).kind);
  WaitRule rule;
  rule.everyone = dependency == Dependency::everyone;
  rule.only_special_waits = dependency == Dependency::root_waits;
  if (!rule.everyone && dependency != Dependency::none) rule.special = special_row(view, id, dependency);
  return rule;
}

}  // namespace skewscope::blame
