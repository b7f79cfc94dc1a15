#include "wait_rule.h"

#include "collectives/batch_waits.h"
#include "collectives/synchronization.h"

namespace skewscope::blame {

AwaitedRows::AwaitedRows(const JobView& view) {
  if (view.table.links.empty()) return;
  for (const CollectiveInstance& i : view.table.instances) {
    begin_.resize(i.first_member, static_cast<uint32_t>(partners_.size()));
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
      begin_.resize(i.first_member + a.waiter + 1, static_cast<uint32_t>(partners_.size()));
      partners_.push_back(i.first_member + static_cast<uint32_t>(a.partner));
    }
  }
  begin_.resize(view.table.members.size() + 1, static_cast<uint32_t>(partners_.size()));
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
