#include "wait_rule.h"

#include "collectives/batch_waits.h"
#include "collectives/synchronization.h"

namespace skewscope::blame {

std::vector<AwaitedRow> awaited_rows(const JobView& view) {
  std::vector<AwaitedRow> rows;
  for (size_t id = 0; id < view.table.instances.size(); ++id) {
    const CollectiveInstance& i = view.instance(id);
    if (i.kind != CollectiveKind::coalesced) continue;
    std::vector<BatchCall> calls;
    std::vector<BatchEnd> ends;
    for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      calls.push_back({view.start(row).ns, view.end(row).ns});
      for (const BatchLink& link : links_of(view.table, row)) {
        ends.push_back({row - i.first_member, link.partner - i.first_member, link.receives});
      }
    }
    for (const Awaited& a : awaited_in_batch(calls, ends)) {
      rows.push_back(
          {i.first_member + static_cast<uint32_t>(a.waiter), i.first_member + static_cast<uint32_t>(a.partner)});
    }
  }
  return rows;
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
