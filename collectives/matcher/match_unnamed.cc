#include "match_unnamed.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "calls_in_order.h"
#include "collectives/open_end.h"
#include "group_evidence.h"
#include "inferred_groups.h"

namespace skewscope {
namespace {

// How likely the ends of a candidate lie so close by chance if they did not wait for the last to arrive: over the time
// by which it came after all others.
double chance_of(const CandidateInstance& candidate) {
  std::vector<int64_t> start, end;
  for (const CallOnHubClock& p : candidate) {
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
void match_in_step_order(const std::vector<MemberCalls>& members, TimeMatch& match) {
  constexpr int64_t kSlack = 5'000;  // ns
  constexpr double kChance = 1e-3;
  const std::vector<int32_t> open = members_with_calls(members);
  std::optional<OrderedCandidates> ordered = candidates_in_order(members, open);
  if (!ordered || !ordered->by_step) return;
  CandidateInstances& candidates = ordered->candidates;
  if (candidates.instances.size() != members[static_cast<size_t>(open.front())].size()) return;
  Cluster cluster;
  cluster.hub = open.front();
  cluster.members = open;
  if (bond_by_lateness(candidates, members, cluster) != Bond::together) return;
  const MemberCalls& of_hub = members[static_cast<size_t>(cluster.hub)];
  const auto tells = [](const MatchCall& call) { return call.step >= 0 && call.ends_together; };
  if (of_hub.empty() || !std::all_of(of_hub.begin(), of_hub.end(), tells)) return;
  const std::vector<PlaceInStep> places = places_in_steps(of_hub);
  std::map<std::pair<int32_t, int32_t>, double> chance;  // by length of the step and position in it
  for (size_t k = 0; k < places.size(); ++k) {
    double& of_place = chance.emplace(std::make_pair(places[k].of, places[k].ordinal), 1).first->second;
    of_place =
        causal(candidates.instances[k], members, kSlack) ? of_place * chance_of(candidates.instances[k]) : INFINITY;
  }
  match.settled = true;
  for (size_t k = 0; k < places.size(); ++k) {
    if (chance.at({places[k].of, places[k].ordinal}) > kChance) {
      for (const int32_t m : open) match.reasons[static_cast<size_t>(m)][k] = UnmatchedReason::ambiguous;
      continue;
    }
    match.candidates.instances.push_back(std::move(candidates.instances[k]));
    match.candidates.method.push_back(MatchMethod::step);
  }
  for (const int32_t m : open) match.cluster_of_member[static_cast<size_t>(m)] = 0;
}

void match_by_ends(const std::vector<MemberCalls>& members, Membership membership, const MemberHints& hints,
                   TimeMatch& match) {
  if (members_with_calls(members).size() < 2) {
    for (const int32_t m : members_with_calls(members)) match.cluster_of_member[static_cast<size_t>(m)] = 0;
    return;
  }
  InferredGroups found = find_groups(members, membership, hints);
  match.ends_agree = found.ends_agree;
  std::vector<InferredGroup>& groups = found.groups;
  match.settled = !groups.empty();
  int32_t number = 0;
  for (InferredGroup& group : groups) {
    for (const int32_t m : group.cluster.members) match.cluster_of_member[static_cast<size_t>(m)] = number;
    keep_causal(std::move(group.candidates), members, group.cluster.tolerance_ns, match);
    ++number;
  }
  if (!match.settled && membership == Membership::inferred_of_all_ranks) match_in_step_order(members, match);
  if (match.settled) return;
  for (const int32_t m : members_with_calls(members)) {
    match.cluster_of_member[static_cast<size_t>(m)] = number++;
    match.leave_ambiguous(m);
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

// An end that was not recorded speaks for no group and against none: its call is in no candidate. Without any end of a
// member nothing tells its group.
void match_unnamed(const std::vector<MemberCalls>& members, Membership membership, const MemberHints& hints,
                   TimeMatch& match) {
  const auto open = [](const MatchCall& call) { return lacks_end(call.end_ns - call.start_ns); };
  const bool all_ended = std::none_of(members.begin(), members.end(), [&](const MemberCalls& calls) {
    return std::any_of(calls.begin(), calls.end(), open);
  });
  const EndedCalls ended(all_ended ? std::vector<MemberCalls>() : members);
  if (all_ended || members_with_calls(ended.members).size() < members_with_calls(members).size()) {
    return match_by_ends(members, membership, hints, match);
  }
  TimeMatch found = match;
  for (size_t m = 0; m < members.size(); ++m) {
    found.reasons[m].resize(ended.members[m].size());
    for (size_t k = 0; k < ended.call[m].size(); ++k) {
      found.reasons[m][k] = match.reasons[m][static_cast<size_t>(ended.call[m][k])];
    }
  }
  match_by_ends(ended.members, membership, hints, found);
  for (CandidateInstance& candidate : found.candidates.instances) {
    for (CallOnHubClock& part : candidate) {
      part.call = ended.call[static_cast<size_t>(part.member)][static_cast<size_t>(part.call)];
    }
  }
  for (size_t m = 0; m < members.size(); ++m) {
    for (size_t k = 0; k < ended.call[m].size(); ++k) {
      match.reasons[m][static_cast<size_t>(ended.call[m][k])] = found.reasons[m][k];
    }
  }
  found.reasons = std::move(match.reasons);
  match = std::move(found);
}

}  // namespace skewscope
