#include "told_groups.h"

namespace skewscope::matching {
namespace {

struct Told {
  GroupKey key;
  TraceIndex trace;
  int32_t group = -1;
};

}  // namespace

ToldGroups told_groups(const std::vector<CallGroup>& groups, const std::vector<MatchOutcome>& outcomes,
                       Exchange& exchange) {
  std::vector<Told> own;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].membership != Membership::inferred_of_all_ranks || !outcomes[g].settled) continue;
    for (size_t m = 0; m < groups[g].members.size(); ++m) {
      own.push_back({groups[g].key, groups[g].members[m], outcomes[g].cluster[m]});
    }
  }
  ToldGroups told;
  for (const Told& one : all_rows(exchange, std::move(own))) told[one.key][one.trace] = one.group;
  return told;
}

std::vector<std::vector<int32_t>> groups_beside(const CallGroup& group, const ToldGroups& told) {
  if (group.membership != Membership::inferred_of_all_ranks) return {};
  std::vector<std::vector<int32_t>> beside;
  for (const auto& [key, group_of] : told) {
    if (key.session != group.key.session) continue;
    std::vector<int32_t>& row = beside.emplace_back();
    for (const TraceIndex trace : group.members) {
      const auto at = group_of.find(trace);
      row.push_back(at == group_of.end() ? -1 : at->second);
    }
  }
  return beside;
}

}  // namespace skewscope::matching
