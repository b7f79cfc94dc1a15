#include "wait_rule.h"

#include "collectives/synchronization.h"

namespace skewscope::blame {

bool waits_for_partner(const JobView& view, const BatchLink& link) {
  return link.receives || is_held(view.end(link.row).ns, view.start(link.partner).ns);
}

WaitRule wait_rule(const JobView& view, size_t id) {
  const CollectiveInstance& i = view.instance(id);
  const Dependency dependency = dependency_of(i.kind);
  WaitRule rule;
  rule.everyone = dependency == Dependency::everyone;
  rule.only_special_waits = dependency == Dependency::root_waits;
  if (i.special >= 0) rule.special = static_cast<int64_t>(i.first_member) + i.special;
  if (i.kind == CollectiveKind::coalesced) rule.batches = &view;
  if (i.kind == CollectiveKind::send && i.special >= 0 && i.member_count == 2) {
    const auto sender = static_cast<uint32_t>(rule.special), receiver = 2 * i.first_member + 1 - sender;
    rule.everyone = waits_for_partner(view, {sender, receiver, false});
  }
  return rule;
}

}  // namespace skewscope::blame
