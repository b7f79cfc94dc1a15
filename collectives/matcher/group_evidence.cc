#include "group_evidence.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "shift_search.h"
#include "skewscope/base/middle.h"

namespace skewscope {
namespace {

// Whether the candidate's calls are such that all members leave together.
bool ends_together(const CandidateInstance& candidate, const std::vector<MemberCalls>& members) {
  return call_of(members, candidate.front()).ends_together;
}

// Mean distance of each member's ends from the hub's, of the signature in which it is largest, around their median. The
// mean, because groups that a common step holds in line differ in some calls only.
std::vector<double> distance_from_hub_ns(const CandidateInstances& candidates, const std::vector<MemberCalls>& members,
                                         const Cluster& cluster) {
  std::map<std::pair<int32_t, uint64_t>, std::vector<double>> differences;  // by member and signature
  for (const CandidateInstance& candidate : candidates.instances) {
    const CallOnHubClock* hub = part_of_member(candidate, cluster.hub);
    if (hub == nullptr || !ends_together(candidate, members)) continue;
    for (const CallOnHubClock& p : candidate) {
      if (p.member == cluster.hub) continue;
      differences[{p.member, p.signature}].push_back(static_cast<double>(p.end_ns - hub->end_ns));
    }
  }
  std::map<int32_t, double> largest;
  for (auto& [key, values] : differences) {
    const double center = take_middle(values);
    double sum = 0;
    for (const double value : values) sum += std::fabs(value - center);
    double& of_member = largest[key.first];
    of_member = std::max(of_member, sum / static_cast<double>(values.size()));
  }
  std::vector<double> distance;
  for (const auto& [member, value] : largest) distance.push_back(value);
  return distance;
}

}  // namespace

std::vector<JointCall> joint_calls(const CandidateInstances& candidates, const std::vector<MemberCalls>& members,
                                   const std::vector<int32_t>& who) {
  std::vector<size_t> column(members.size(), who.size());
  for (size_t k = 0; k < who.size(); ++k) column[static_cast<size_t>(who[k])] = k;
  std::vector<JointCall> calls;
  for (const CandidateInstance& candidate : candidates.instances) {
    if (candidate.size() < who.size() || !ends_together(candidate, members)) continue;
    JointCall call;
    call.signature = candidate.front().signature;
    call.start_ns.resize(who.size());
    call.end_ns.resize(who.size());
    size_t found = 0;
    for (const CallOnHubClock& p : candidate) {
      const size_t k = column[static_cast<size_t>(p.member)];
      if (k == who.size()) continue;
      call.start_ns[k] = p.start_ns;
      call.end_ns[k] = p.end_ns;
      ++found;
    }
    if (found == who.size()) calls.push_back(std::move(call));
  }
  return calls;
}

Bond bond_by_lateness(const CandidateInstances& candidates, const std::vector<MemberCalls>& members,
                      const Cluster& cluster) {
  return bond_of(joint_calls(candidates, members, cluster.members));
}

bool keeps_causality(const CandidateInstances& candidates, const std::vector<MemberCalls>& members) {
  constexpr int64_t kSlack = 5'000;
  const auto broken =
      std::count_if(candidates.instances.begin(), candidates.instances.end(),
                    [&](const CandidateInstance& candidate) { return !causal(candidate, members, kSlack); });
  return 100 * broken <= static_cast<int64_t>(candidates.instances.size());
}

bool meet_throughout(const std::vector<MemberCalls>& members, const CandidateInstances& candidates,
                     const Cluster& cluster) {
  std::map<int32_t, int64_t> shared;
  for (const CandidateInstance& candidate : candidates.instances) {
    if (part_of_member(candidate, cluster.hub) == nullptr) continue;
    for (const CallOnHubClock& p : candidate) ++shared[p.member];
  }
  const MemberCalls& hub = members[static_cast<size_t>(cluster.hub)];
  for (size_t k = 0; k < cluster.members.size(); ++k) {
    if (cluster.members[k] == cluster.hub) continue;
    const MemberCalls& calls = members[static_cast<size_t>(cluster.members[k])];
    const ClockLine& line = cluster.lines[k];
    const int64_t first = std::max(line.apply(calls.front().end_ns), hub.front().end_ns) - cluster.tolerance_ns;
    const int64_t last = std::min(line.apply(calls.back().end_ns), hub.back().end_ns) + cluster.tolerance_ns;
    const auto inside = [&](const MatchCall& call) { return call.end_ns >= first && call.end_ns <= last; };
    const auto own = std::count_if(calls.begin(), calls.end(), [&](MatchCall call) {
      call.end_ns = line.apply(call.end_ns);
      return inside(call);
    });
    if (5 * shared[cluster.members[k]] < 4 * std::max(own, std::count_if(hub.begin(), hub.end(), inside))) return false;
  }
  return true;
}

bool in_whole_candidates(const std::vector<MemberCalls>& members, const CandidateInstances& candidates,
                         const Cluster& cluster) {
  constexpr double kMostApart = 0.05;
  std::vector<const CandidateInstance*> whole;
  for (const CandidateInstance& candidate : candidates.instances) {
    if (candidate.size() == cluster.members.size()) whole.push_back(&candidate);
  }
  std::sort(whole.begin(), whole.end(),
            [](const auto* a, const auto* b) { return a->front().end_ns < b->front().end_ns; });
  std::vector<size_t> between(whole.size() + 1, SIZE_MAX);  // the fewest calls of a member there
  for (size_t k = 0; k < cluster.members.size(); ++k) {
    const int32_t m = cluster.members[k];
    std::vector<size_t> of_call(members[static_cast<size_t>(m)].size(), whole.size());
    for (size_t r = 0; r < whole.size(); ++r) {
      for (const CallOnHubClock& p : *whole[r]) {
        if (p.member == m) of_call[static_cast<size_t>(p.call)] = r;
      }
    }
    std::vector<size_t> own(whole.size() + 1, 0);
    size_t next = 0;
    for (const size_t r : of_call) r == whole.size() ? ++own[next] : next = r + 1;
    for (size_t gap = 0; gap < own.size(); ++gap) between[gap] = std::min(between[gap], own[gap]);
  }
  size_t apart = 0;
  for (const size_t count : between) apart += count;
  return static_cast<double>(apart) <= kMostApart * static_cast<double>(whole.size());
}

bool ends_agree(const std::vector<MemberCalls>& members, const CandidateInstances& candidates, const Cluster& cluster) {
  constexpr double kMostScatter = 5'000, kShareOfSpacing = 5e-4, kAlike = 2.5;  // ns, 1, 1
  if (cluster.method == MatchMethod::step) return false;
  const int64_t spacing_ns = typical_spacing_ns(members[static_cast<size_t>(cluster.hub)]);
  const double limit = std::max(kMostScatter, kShareOfSpacing * static_cast<double>(spacing_ns));
  const std::vector<double> distance = distance_from_hub_ns(candidates, members, cluster);
  if (distance.size() + 1 < cluster.members.size()) return false;
  const auto [least, most] = std::minmax_element(distance.begin(), distance.end());
  return *most <= limit && *most <= kAlike * std::max(kFinestScatter, *least);
}

}  // namespace skewscope
