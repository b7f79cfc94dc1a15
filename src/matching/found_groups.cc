#include "found_groups.h"

#include <algorithm>

namespace skewscope::matching {
namespace {

constexpr size_t kLeastCalls = 5;  // of a member, that its ends say anything

struct FoundGroup {
  GroupKey key;
  TraceIndex trace;
  int32_t group = -1;  // -1: not found
  bool agrees = false;
};

// One group, or ends that agree with there being one.
bool agrees(const CallGroup& group, const MatchOutcome& outcome) {
  if (!outcome.settled) {
    const auto few = [](const auto& calls) { return calls.size() < kLeastCalls; };
    return outcome.ends_agree || std::all_of(group.calls.begin(), group.calls.end(), few);
  }
  return std::all_of(outcome.cluster.begin(), outcome.cluster.end(),
                     [&](int32_t one) { return one == outcome.cluster.front(); });
}

}  // namespace

FoundGroups found_groups(const std::vector<CallGroup>& groups, const std::vector<MatchOutcome>& outcomes,
                         Exchange& exchange) {
  std::vector<FoundGroup> own;
  for (size_t g = 0; g < groups.size(); ++g) {
    const CallGroup& group = groups[g];
    const bool found = group.membership == Membership::inferred_of_all_ranks && outcomes[g].settled;
    for (size_t m = 0; m < group.members.size(); ++m) {
      const bool unnamed = group.membership != Membership::known;
      own.push_back(
          {group.key, group.members[m], found ? outcomes[g].cluster[m] : -1, unnamed && agrees(group, outcomes[g])});
    }
  }
  FoundGroups found;
  for (const FoundGroup& one : all_rows(exchange, std::move(own))) {
    bool& all = found.all_agree.emplace(one.key.session, true).first->second;
    all = all && one.agrees;
    if (one.group >= 0) found.by_stream[one.key][one.trace] = one.group;
  }
  return found;
}

std::vector<std::vector<int32_t>> groups_of_other_streams(const CallGroup& group, const FoundGroups& found) {
  if (group.membership != Membership::inferred_of_all_ranks) return {};
  std::vector<std::vector<int32_t>> on_other_streams;
  for (const auto& [key, group_of] : found.by_stream) {
    if (key.session != group.key.session) continue;
    std::vector<int32_t>& row = on_other_streams.emplace_back();
    for (const TraceIndex trace : group.members) {
      const auto at = group_of.find(trace);
      row.push_back(at == group_of.end() ? -1 : at->second);
    }
  }
  return on_other_streams;
}

bool is_alone(const CallGroup& group, const FoundGroups& found) {
  return group.alone || (group.membership != Membership::known && found.all_agree.at(group.key.session));
}

}  // namespace skewscope::matching
