#include "join_calls.h"

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>

#include "causal_shift.h"
#include "match_order.h"
#include "skewscope/base/middle.h"

namespace skewscope {
namespace {

// All calls of the cluster on the hub's clock, by (signature, end).
std::vector<CallOnHubClock> calls_on_hub_clock(const std::vector<MemberCalls>& members, const Cluster& cluster) {
  std::vector<size_t> first{0};  // where each member's calls begin
  for (const int32_t m : cluster.members) first.push_back(first.back() + members[static_cast<size_t>(m)].size());
  std::vector<CallOnHubClock> placed(first.back());
  tbb::parallel_for(size_t{0}, cluster.members.size(), [&](size_t k) {
    const int32_t m = cluster.members[k];
    const MemberCalls& calls = members[static_cast<size_t>(m)];
    for (size_t c = 0; c < calls.size(); ++c) {
      placed[first[k] + c] = on_hub_clock(calls[c], cluster.lines[k], m, static_cast<int32_t>(c));
    }
  });
  tbb::parallel_sort(placed, [](const CallOnHubClock& a, const CallOnHubClock& b) {
    return std::tie(a.signature, a.end_ns, a.member, a.call) < std::tie(b.signature, b.end_ns, b.member, b.call);
  });
  return placed;
}

// Runs of equal signature whose ends lie within the tolerance, each of `members` once. What is alone goes to
// `rest`.
void join_ends(const std::vector<CallOnHubClock>& placed, size_t members, int64_t tolerance_ns, MatchMethod method,
               CandidateInstances& candidates, std::vector<CallOnHubClock>& rest) {
  CandidateInstance candidate;
  std::vector<int64_t> last_candidate(members, -1);  // that the member was in
  int64_t number = 0;
  const auto close = [&] {
    ++number;
    if (candidate.size() >= 2) {
      candidates.instances.push_back(candidate);
      candidates.method.push_back(method);
    } else {
      rest.insert(rest.end(), candidate.begin(), candidate.end());
    }
    candidate.clear();
  };
  for (const CallOnHubClock& p : placed) {
    const bool fits = !candidate.empty() && candidate.front().signature == p.signature &&
                      p.end_ns - candidate.front().end_ns <= tolerance_ns &&
                      last_candidate[static_cast<size_t>(p.member)] < number;
    if (!fits) close();
    last_candidate[static_cast<size_t>(p.member)] = number;
    candidate.push_back(p);
  }
  close();
}

// Calls that do not leave together: between two neighbouring candidates, equal signatures match in order when
// all members of the cluster hold equally many of them there and the partners overlap.
void join_order(const std::vector<CallOnHubClock>& rest, const std::vector<MemberCalls>& members,
                const Cluster& cluster, CandidateInstances& candidates) {
  std::vector<int64_t> fences;  // ends of candidates: time is cut into segments there
  for (const CandidateInstance& candidate : candidates.instances) fences.push_back(candidate.front().end_ns);
  std::sort(fences.begin(), fences.end());
  std::map<std::pair<int64_t, uint64_t>, std::map<int32_t, std::vector<CallOnHubClock>>> segments;
  for (const CallOnHubClock& p : rest) {
    if (call_of(members, p).ends_together) continue;
    const auto segment = std::lower_bound(fences.begin(), fences.end(), p.end_ns) - fences.begin();
    segments[{segment, p.signature}][p.member].push_back(p);
  }
  for (const auto& [key, by_member] : segments) {
    if (by_member.size() != cluster.members.size() || by_member.size() < 2) continue;
    const size_t count = by_member.begin()->second.size();
    if (std::any_of(by_member.begin(), by_member.end(), [&](const auto& m) { return m.second.size() != count; })) {
      continue;
    }
    for (size_t k = 0; k < count; ++k) {
      CandidateInstance candidate;
      for (const auto& [member, calls] : by_member) candidate.push_back(calls[k]);
      if (!overlap(candidate, cluster.tolerance_ns)) continue;
      candidates.instances.push_back(std::move(candidate));
      candidates.method.push_back(cluster.method);
    }
  }
}

// Per call of member `k`, which is not the hub, the hub's call: by the one order or step by step.
std::vector<int32_t> partners_of(const MemberCalls& hub, const MemberCalls& member, const Cluster& cluster, size_t k) {
  if (!cluster.order[k]) return cluster.by_step[k];
  std::vector<int32_t> partners;
  for (int64_t c = 0; c < std::ssize(member); ++c) {
    const int64_t other = c + *cluster.order[k];
    partners.push_back(other >= 0 && other < std::ssize(hub) ? static_cast<int32_t>(other) : -1);
  }
  return partners;
}

// The pairs of two members whose calls their order joined: those whose ends lie together, and those whose steps agree,
// which are messages, and all calls where ends lie together only by chance.
CandidateInstances pairs_in_order(const std::vector<MemberCalls>& members, const Cluster& cluster) {
  const size_t of_hub = cluster.members[0] == cluster.hub ? 0 : 1, of_member = 1 - of_hub;
  const auto calls = [&](size_t k) -> const MemberCalls& { return members[static_cast<size_t>(cluster.members[k])]; };
  const auto call_at = [&](size_t k, int32_t c) {
    return on_hub_clock(calls(k)[static_cast<size_t>(c)], cluster.lines[k], cluster.members[k], c);
  };
  const std::vector<int32_t> partners = partners_of(calls(of_hub), calls(of_member), cluster, of_member);
  const std::optional<int64_t> order = cluster.order[of_member];
  const std::vector<bool> at_one_place =
      order ? at_one_place_in_step(calls(of_hub), calls(of_member), *order) : std::vector<bool>(partners.size(), true);
  enum Class : size_t { leave_together, message, of_batch };
  const auto class_of = [&](size_t c) {
    const MatchCall &a = calls(of_hub)[static_cast<size_t>(partners[c])], &b = calls(of_member)[c];
    if (a.of_batch || b.of_batch) return of_batch;
    return a.ends_together && b.ends_together ? leave_together : message;
  };
  struct Pair {
    Class own;
    bool at_one_place;
    CallOnHubClock first, second;
  };
  std::vector<Pair> pairs;
  std::array<std::vector<int64_t>, 2> apart_ns;  // of the first two classes
  const auto apart = [](const CallOnHubClock& a, const CallOnHubClock& b) { return std::llabs(a.end_ns - b.end_ns); };
  for (size_t c = 0; c < partners.size(); ++c) {
    if (partners[c] < 0) continue;
    pairs.push_back(
        {class_of(c), at_one_place[c], call_at(of_hub, partners[c]), call_at(of_member, static_cast<int32_t>(c))});
    const Pair& pair = pairs.back();
    if (pair.own != of_batch) apart_ns[pair.own].push_back(apart(pair.first, pair.second));
  }
  std::array<bool, 3> ends_tie = {true, true, false};
  for (size_t own = 0; own < apart_ns.size(); ++own) {
    if (!apart_ns[own].empty()) ends_tie[own] = 4 * take_middle(apart_ns[own]) <= cluster.tolerance_ns;
  }
  CandidateInstances candidates;
  for (const Pair& pair : pairs) {
    const bool together = pair.own != of_batch && apart(pair.first, pair.second) <= cluster.tolerance_ns;
    // Order tells where ends do not: of messages that a buffer took, of calls whose ends scatter.
    const bool in_order = !cluster.lossy && (pair.own != leave_together || !ends_tie[pair.own]);
    if (together ? !ends_tie[pair.own] && cluster.lossy : !in_order || !pair.at_one_place) continue;
    candidates.instances.push_back({pair.first, pair.second});
    candidates.method.push_back(cluster.method);
  }
  return candidates;
}

// The cluster's members that order joined to the hub and whose ends scatter too far to join them by; or the others.
Cluster tied_by_order(const Cluster& cluster, bool by_order) {
  return part_of(cluster, [&](size_t k) {
    const bool scattered = cluster.order[k] && 4 * cluster.scatter_ns[k] > static_cast<double>(cluster.tolerance_ns);
    return scattered == by_order;
  });
}

// Adds the calls of members that order joined to the candidates that hold the hub's.
void add_by_order(const std::vector<MemberCalls>& members, const Cluster& tied, CandidateInstances& candidates) {
  const MemberCalls& hub = members[static_cast<size_t>(tied.hub)];
  for (CandidateInstance& candidate : candidates.instances) {
    const auto of_hub =
        std::find_if(candidate.begin(), candidate.end(), [&](const CallOnHubClock& p) { return p.member == tied.hub; });
    if (of_hub == candidate.end()) continue;
    const int32_t hub_call = of_hub->call;
    for (size_t k = 0; k < tied.members.size(); ++k) {
      const MemberCalls& calls = members[static_cast<size_t>(tied.members[k])];
      const int64_t c = hub_call - *tied.order[k];
      if (c < 0 || c >= std::ssize(calls)) continue;
      const MatchCall& call = calls[static_cast<size_t>(c)];
      const CallOnHubClock own = on_hub_clock(call, tied.lines[k], tied.members[k], static_cast<int32_t>(c));
      const bool one =
          alike(call, hub[static_cast<size_t>(hub_call)]) && (!call.ends_together || meet({candidate.front(), own}));
      if (one) candidate.push_back(own);
    }
  }
}

}  // namespace

CandidateInstances candidates_of(const std::vector<MemberCalls>& members, const Cluster& cluster,
                                 Membership membership) {
  if (cluster.members.size() == 2) {
    const size_t of_member = cluster.members[0] == cluster.hub ? 1 : 0;
    if (cluster.order[of_member] || !cluster.by_step[of_member].empty()) return pairs_in_order(members, cluster);
  }
  const Cluster tied = tied_by_order(cluster, true), by_ends = tied_by_order(cluster, false);
  CandidateInstances candidates;
  std::vector<CallOnHubClock> rest;
  join_ends(calls_on_hub_clock(members, by_ends), members.size(), by_ends.tolerance_ns, by_ends.method, candidates,
            rest);
  if (membership == Membership::known) join_by_order(members, by_ends, rest, candidates);
  join_order(rest, members, by_ends, candidates);
  if (!tied.members.empty()) add_by_order(members, tied, candidates);
  return candidates;
}

}  // namespace skewscope
