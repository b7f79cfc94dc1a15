#include "match_unnamed.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "calls_in_order.h"
#include "group_evidence.h"
#include "inferred_groups.h"
#include "collectives/open_end.h"

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

void match_by_ends(const std::vector<MemberCalls>& members, Membership membership, const MemberHints& hints,
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

// The calls of members whose end was recorded, and which of a member's calls each is.
struct EndedCalls {
  std::vector<MemberCalls> members;
  std::vector<std::vector<int32_t>> call;

  explicit EndedCalls(const std::vector<MemberCalls>& all) : members(all.size()), call(all.size()) {
    for (size_t m = 0; m < all.size(); ++m) {
      for (size_t k = 0; k < all[m].size(); ++k) {
        if (lacks_end(all[m][k].end_ns - all[m][k].start_ns)) continue;
        members[m].push_back(all[m][k]);
        call[m].push_back(static_cast<int32_t>(k));
      }
    }
  }
};

}  // namespace

// An end that was not recorded speaks for no group and against none: its call is in no row. Without any end of a member
// nothing tells its group.
void match_unnamed(const std::vector<MemberCalls>& members, Membership membership, const MemberHints& hints,
                   Timed& timed) {
  const auto open = [](const MatchCall& call) { return lacks_end(call.end_ns - call.start_ns); };
  const bool all_ended = std::none_of(members.begin(), members.end(), [&](const MemberCalls& calls) {
    return std::any_of(calls.begin(), calls.end(), open);
  });
  const EndedCalls ended(all_ended ? std::vector<MemberCalls>() : members);
  if (all_ended || members_with_calls(ended.members).size() < members_with_calls(members).size()) {
    return match_by_ends(members, membership, hints, timed);
  }
  Timed found = timed;
  for (size_t m = 0; m < members.size(); ++m) {
    found.reason[m].resize(ended.members[m].size());
    for (size_t k = 0; k < ended.call[m].size(); ++k) {
      found.reason[m][k] = timed.reason[m][static_cast<size_t>(ended.call[m][k])];
    }
  }
  match_by_ends(ended.members, membership, hints, found);
  for (std::vector<Placed>& row : found.rows.rows) {
    for (Placed& part : row) {
      part.call = ended.call[static_cast<size_t>(part.member)][static_cast<size_t>(part.call)];
    }
  }
  for (size_t m = 0; m < members.size(); ++m) {
    for (size_t k = 0; k < ended.call[m].size(); ++k) {
      timed.reason[m][static_cast<size_t>(ended.call[m][k])] = found.reason[m][k];
    }
  }
  found.reason = std::move(timed.reason);
  timed = std::move(found);
}

}  // namespace skewscope
