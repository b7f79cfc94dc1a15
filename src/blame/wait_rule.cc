#include "wait_rule.h"

#include "collectives/synchronization.h"

namespace skewscope::blame {

WaitRule wait_rule(const JobView& view, size_t id) {
  const CollectiveInstance& i = view.instance(id);
  const Dependency dependency = dependency_of(i.kind);
  WaitRule rule;
  rule.everyone = dependency == Dependency::everyone;
  rule.only_special_waits = dependency == Dependency::root_waits;
  if (i.special >= 0) rule.special = static_cast<int64_t>(i.first_member) + i.special;
  return rule;
}

}  // namespace skewscope::blame
