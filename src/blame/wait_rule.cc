#include "wait_rule.h"

#include "collectives/synchronization.h"

namespace skewscope::blame {

std::vector<AwaitedRow> awaited_rows(const JobView& view) {
  std::vector<AwaitedRow> awaited;
  for (const BatchLink& link : view.table.links) {
    const bool known = !awaited.empty() && awaited.back().waiter == link.row && awaited.back().partner == link.partner;
    if (known) continue;
    if (link.receives || is_held(view.end(link.row).ns, view.start(link.partner).ns)) {
      awaited.push_back({link.row, link.partner});
    }
  }
  return awaited;
}

std::span<const AwaitedRow> awaited_by(const std::vector<AwaitedRow>& all, size_t waiter) {
  const auto [begin, end] =
      std::equal_range(all.begin(), all.end(), AwaitedRow{static_cast<uint32_t>(waiter), 0},
                       [](const AwaitedRow& a, const AwaitedRow& b) { return a.waiter < b.waiter; });
  return {begin, end};
}

WaitRule wait_rule(const JobView& view, size_t id) {
  const CollectiveInstance& i = view.instance(id);
  const Dependency dependency = dependency_of(i.kind);
  WaitRule rule;
  rule.everyone = dependency == Dependency::everyone;
  rule.only_special_waits = dependency == Dependency::root_waits;
  if (i.special >= 0) rule.special = static_cast<int64_t>(i.first_member) + i.special;
  rule.batches = i.kind == CollectiveKind::coalesced;
  if (i.kind == CollectiveKind::send && i.special >= 0 && i.member_count == 2) {
    const auto sender = static_cast<uint32_t>(rule.special), receiver = 2 * i.first_member + 1 - sender;
    rule.everyone = is_held(view.end(sender).ns, view.start(receiver).ns);
  }
  return rule;
}

}  // namespace skewscope::blame
