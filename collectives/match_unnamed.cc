#include "collectives/match_unnamed.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "collectives/calls_in_order.h"
#include "collectives/group_evidence.h"
#include "collectives/inferred_groups.h"

namespace skewscope {
namespace {

// How likely the ends of a row lie so close by chance if they did not wait for the last to arrive: over the time by
// which it came after all others.
double chance_of(const std::vector<Placed>& row) {
  std::vector<int64_t> start, end;
  for (const Placed& p : row) {
    start.push_back(p.start_ns);
    end.push_back(p.end_ns);
  }
  std::sort(start.begin(), start.end());
  const auto [first, last] = std::minmax_element(end.begin(), end.end());
  const auto gap = static_cast<double>(start.back() - start[start.size() - 2]);
  const auto spread = static_cast<double>(*last - *first);
  return 2 * spread < gap ? 2 * spread / gap : 1;
}

// CPU backends record neither groups nor, mostly, sizes: calls of several communicators may be in one pool, and equal
// counts in every step prove nothing. So all members must hold each other up, nobody may leave before the last arrived,
// and every place in the step must show it on its own: its calls are one communicator's in all steps.
void match_in_step_order(const std::vector<MemberCalls>& members, Timed& timed) {
  constexpr int64_t kSlack = 5'000;  // ns
  constexpr double kChance = 1e-3;
  const std::vector<int32_t> open = members_with_calls(members);
  std::optional<OrderedRows> ordered = rows_in_order(members, open);
  if (!ordered || !ordered->by_step) return;
  Rows& rows = ordered->rows;
  if (rows.rows.size() != members[static_cast<size_t>(open.front())].size()) return;
  Cluster cluster;
  cluster.hub = open.front();
  cluster.members = open;
  if (bond_by_lateness(rows, members, cluster) != Bond::together) return;
  const std::vector<StepPlace> places = step_places(members[static_cast<size_t>(cluster.hub)]);
  if (places.empty()) return;
  std::map<std::pair<size_t, size_t>, double> chance;
  for (size_t k = 0; k < places.size(); ++k) {
    double& of_place = chance.emplace(std::make_pair(places[k].of, places[k].ordinal), 1).first->second;
    of_place = causal(rows.rows[k], members, kSlack) ? of_place * chance_of(rows.rows[k]) : INFINITY;
  }
  timed.settled = true;
  for (size_t k = 0; k < places.size(); ++k) {
    if (chance.at({places[k].of, places[k].ordinal}) > kChance) {
      for (const int32_t m : open) timed.reason[static_cast<size_t>(m)][k] = Refusal::ambiguous;
      continue;
    }
    timed.rows.rows.push_back(std::move(rows.rows[k]));
    timed.rows.method.push_back(MatchedBy::step);
  }
  for (const int32_t m : open) timed.cluster[static_cast<size_t>(m)] = 0;
}

}  // namespace

void match_unnamed(const std::vector<MemberCalls>& members, Membership membership, const MemberHints& hints,
                   Timed& timed) {
  if (members_with_calls(members).size() < 2) {
    for (const int32_t m : members_with_calls(members)) timed.cluster[static_cast<size_t>(m)] = 0;
    return;
  }
  InferredGroups found = find_groups(members, membership, hints);
  timed.ends_agree = found.ends_agree;
  std::vector<InferredGroup>& groups = found.groups;
  timed.settled = !groups.empty();
  int32_t number = 0;
  for (InferredGroup& group : groups) {
    for (const int32_t m : group.cluster.members) timed.cluster[static_cast<size_t>(m)] = number;
    keep_causal(std::move(group.rows), members, group.cluster.tolerance_ns, timed);
    ++number;
  }
  if (!timed.settled && membership == Membership::inferred_of_all_ranks) match_in_step_order(members, timed);
  if (timed.settled) return;
  for (const int32_t m : members_with_calls(members)) {
    timed.cluster[static_cast<size_t>(m)] = number++;
    std::fill(timed.reason[static_cast<size_t>(m)].begin(), timed.reason[static_cast<size_t>(m)].end(),
              Refusal::ambiguous);
  }
}

}  // namespace skewscope
