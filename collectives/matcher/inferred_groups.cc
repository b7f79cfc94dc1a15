#include "inferred_groups.h"

#include <algorithm>
#include <map>
#include <optional>

#include "calls_in_order.h"
#include "group_blocks.h"
#include "group_evidence.h"
#include "join_calls.h"

namespace skewscope {
namespace {

constexpr size_t kMostMembers = 256;  // of which groups are looked for: every member is laid over every group's hub

// The hub and those whose ends lie clearly closer to its than the others' do; all where no such gap is seen.
Cluster closest_to_hub(const Cluster& cluster) {
  constexpr double kClearly = 4;
  std::vector<double> scatter = cluster.scatter_ns;
  for (double& s : scatter) s = std::max(s, kFinestScatter);
  std::sort(scatter.begin(), scatter.end());
  double limit = scatter.back();
  for (size_t k = 1; k < scatter.size(); ++k) {
    if (scatter[k] < kClearly * scatter[k - 1]) continue;
    limit = scatter[k - 1];
    break;
  }
  return part_of(cluster, [&](size_t k) { return cluster.scatter_ns[k] <= limit; });
}

// Nodes whose clocks wander apart make blocks of one group's ends, too: such blocks are a node's ranks each, known by
// its name, or, where hosts have none, one after the other.
bool may_be_nodes(const std::vector<int32_t>& open, const Blocks& blocks, const MemberHints& hints) {
  const auto host = [&](size_t k) { return hints.host.empty() ? -1 : hints.host[static_cast<size_t>(open[k])]; };
  for (const std::vector<size_t>& block : blocks) {
    const auto here = [&](size_t k) { return host(k) == host(block.front()); };
    if (host(block.front()) < 0 ? block.back() - block.front() >= block.size()
                                : !std::all_of(block.begin(), block.end(), here)) {
      return false;
    }
  }
  return host(0) < 0 || std::any_of(blocks.begin(), blocks.end(),
                                    [&](const std::vector<size_t>& block) { return host(block.front()) != host(0); });
}

// Blocks that groups of other streams make likely: the same, and those that cross them as the axes of a mesh do, the
// first members of all groups, the second ones, and so on.
std::vector<Blocks> likely_blocks(const std::vector<int32_t>& open, const MemberHints& hints) {
  std::vector<Blocks> likely;
  for (const std::vector<int32_t>& group_of : hints.group_on_other_streams) {
    std::map<int32_t, std::vector<size_t>> groups;
    for (size_t k = 0; k < open.size(); ++k) groups[group_of[static_cast<size_t>(open[k])]].push_back(k);
    const size_t size = groups.begin()->second.size();
    const auto even = [&](const auto& group) { return group.first >= 0 && group.second.size() == size; };
    if (!std::all_of(groups.begin(), groups.end(), even)) continue;
    Blocks same, across(size);
    for (const auto& [number, group] : groups) {
      same.push_back(group);
      for (size_t k = 0; k < size; ++k) across[k].push_back(group[k]);
    }
    if (size > 1) likely.push_back(same);
    if (same.size() > 1 && size > 1) likely.push_back(across);
  }
  return likely;
}

// The size of the members' groups, by what goes into all their calls and comes out; 0: some do not tell, or disagree:
// of another group, perhaps, on the same stream.
size_t told_group_size(const std::vector<MemberCalls>& members, const std::vector<int32_t>& open) {
  const int32_t size = members[static_cast<size_t>(open.front())].front().group_size;
  for (const int32_t m : open) {
    const MemberCalls& calls = members[static_cast<size_t>(m)];
    if (std::any_of(calls.begin(), calls.end(), [&](const MatchCall& call) { return call.group_size != size; }))
      return 0;
  }
  return static_cast<size_t>(size);
}

// One block of members as a group, if nothing speaks against it.
std::optional<InferredGroup> group_of(const std::vector<MemberCalls>& members, const std::vector<int32_t>& block,
                                      const MemberHints& hints) {
  std::vector<bool> ambiguous(members.size(), false);
  Cluster cluster = gather_around_hub(members, block, Membership::known, hints, ambiguous);
  if (cluster.members.size() != block.size()) return std::nullopt;
  CandidateInstances candidates = candidates_of(members, cluster, Membership::known);
  if (!keeps_causality(candidates, members) || !meet_throughout(members, candidates, cluster) ||
      bond_by_lateness(candidates, members, cluster) == Bond::apart) {
    return std::nullopt;
  }
  return InferredGroup{std::move(cluster), std::move(candidates)};
}

// How the members fall into groups, as far as ends tell; none: they do not.
Blocks told_by_ends(const std::vector<int32_t>& open, const std::vector<JointCall>& calls, size_t group_size,
                    const MemberHints& hints) {
  if (calls.empty()) return {};
  Blocks all(1);
  for (size_t k = 0; k < open.size(); ++k) all.front().push_back(k);
  if (group_size == open.size()) return all;
  if (group_size > 0) return blocks_of(calls, group_size);
  const std::vector<Blocks> likely = likely_blocks(open, hints);
  bool one_group = !likely.empty();
  for (const Blocks& blocks : likely) {
    const Division division = blocks.size() == 1 ? Division::one_group : division_of(calls, blocks);
    if (division == Division::blocks) return blocks;
    one_group = one_group && division == Division::one_group;
  }
  const Blocks found = blocks_of(calls);
  return found.size() == 1 && !one_group ? Blocks() : found;
}

// Whether no border of groups may run through the block, unseen: ends that vary little do not show it.
bool holds_together(const std::vector<JointCall>& calls, const std::vector<size_t>& block) {
  if (block.size() == 2) return true;
  std::vector<JointCall> own;
  for (const JointCall& call : calls) {
    JointCall& part = own.emplace_back();
    part.signature = call.signature;
    for (const size_t k : block) {
      part.start_ns.push_back(call.start_ns[k]);
      part.end_ns.push_back(call.end_ns[k]);
    }
  }
  return bond_of(own) == Bond::together;
}

// The groups of these blocks; none where something speaks against one of them.
std::vector<InferredGroup> groups_of(const std::vector<MemberCalls>& members, const std::vector<int32_t>& open,
                                     const std::vector<JointCall>& calls, const Blocks& blocks,
                                     const MemberHints& hints) {
  if (blocks.size() > 1) {
    const Bond between = bond_between(calls, blocks);
    if (between == Bond::together || (between == Bond::undecided && may_be_nodes(open, blocks, hints))) return {};
  }
  std::vector<InferredGroup> groups;
  for (const std::vector<size_t>& block : blocks) {
    if (blocks.size() > 1 && !holds_together(calls, block)) return {};
    std::vector<int32_t> own;
    for (const size_t k : block) own.push_back(open[k]);
    std::optional<InferredGroup> group = group_of(members, own, hints);
    if (!group) return {};
    groups.push_back(std::move(*group));
  }
  return groups;
}

// What speaks for all members being one group, by candidates that time joined.
enum class OneGroup : uint8_t { no, where_alone, yes };

OneGroup are_one(const std::vector<MemberCalls>& members, const CandidateInstances& candidates, const Cluster& cluster,
                 bool all_ranks) {
  constexpr size_t kLeastCalls = 5;
  const Bond bond = bond_by_lateness(candidates, members, cluster);
  const bool held_up = all_ranks && bond == Bond::together;
  // Few calls of groups side by side may lie alike by chance.
  const bool enough = !all_ranks || candidates.instances.size() >= kLeastCalls;
  const bool agree = bond != Bond::apart && enough && ends_agree(members, candidates, cluster);
  // A missing rank's groups leave calls without partner.
  const bool met = !all_ranks ||
                   (meet_throughout(members, candidates, cluster) && in_whole_candidates(members, candidates, cluster));
  if ((!held_up && !agree) || !met || !keeps_causality(candidates, members)) return OneGroup::no;
  return held_up ? OneGroup::yes : OneGroup::where_alone;
}

// Groups of one size around hubs, of those whose ends lie clearly closer to the hub's than the others' do.
std::vector<InferredGroup> groups_around_hubs(const std::vector<MemberCalls>& members, std::vector<int32_t> open,
                                              const MemberHints& hints) {
  const size_t recorded = open.size();
  std::vector<InferredGroup> groups;
  while (!open.empty()) {
    std::vector<bool> ambiguous(members.size(), false);
    Cluster cluster =
        closest_to_hub(gather_around_hub(members, open, Membership::inferred_of_all_ranks, hints, ambiguous));
    const size_t size = cluster.members.size();
    if (size < 2 || size == recorded || (!groups.empty() && size != groups.front().cluster.members.size())) return {};
    CandidateInstances candidates = candidates_of(members, cluster, Membership::inferred_of_all_ranks);
    if (!in_whole_candidates(members, candidates, cluster) || !keeps_causality(candidates, members) ||
        !meet_throughout(members, candidates, cluster) ||
        bond_by_lateness(candidates, members, cluster) != Bond::together) {
      return {};
    }
    for (const int32_t m : cluster.members) open.erase(std::find(open.begin(), open.end(), m));
    groups.push_back({std::move(cluster), std::move(candidates)});
  }
  return groups;
}

}  // namespace

InferredGroups find_groups(const std::vector<MemberCalls>& members, Membership membership, const MemberHints& hints) {
  const std::vector<int32_t> open = members_with_calls(members);
  const bool all_ranks = membership == Membership::inferred_of_all_ranks;
  const bool several = all_ranks && open.size() <= kMostMembers;
  InferredGroups found;
  const auto find_by_ends = [&](const CandidateInstances& candidates, bool surely_in_order) {
    const std::vector<JointCall> calls = joint_calls(candidates, members, open);
    const Blocks blocks = told_by_ends(open, calls, told_group_size(members, open), hints);
    if (surely_in_order || !may_be_shifted(calls, blocks))
      found.groups = groups_of(members, open, calls, blocks, hints);
    return !found.groups.empty();
  };
  const std::optional<OrderedCandidates> ordered = several ? candidates_in_order(members, open) : std::nullopt;
  if (ordered && find_by_ends(ordered->candidates, ordered->by_step)) return found;
  std::vector<bool> ambiguous(members.size(), false);
  Cluster cluster = gather_around_hub(members, open, membership, hints, ambiguous);
  if (cluster.members.size() == open.size()) {
    CandidateInstances candidates = candidates_of(members, cluster, membership);
    const OneGroup one = are_one(members, candidates, cluster, all_ranks);
    found.ends_agree = one == OneGroup::where_alone;
    if (one == OneGroup::yes || (one == OneGroup::where_alone && hints.alone)) {
      candidates = candidates_of(members, cluster, Membership::known);
      found.groups.push_back({std::move(cluster), std::move(candidates)});
      return found;
    }
    if (several && !ordered && find_by_ends(candidates, true)) return found;
  }
  // What the order of calls did not tell, time tells no better.
  if (several && !ordered) found.groups = groups_around_hubs(members, open, hints);
  return found;
}

}  // namespace skewscope
