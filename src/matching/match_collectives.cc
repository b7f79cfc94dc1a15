// The stage: group calls, match each group alone, then once more with what the others told.
//
// Problem: which calls of which ranks are one collective, when windows differ, kernels are missing, clocks are unknown.
// Idea: calls of one communicator are matched by key or by time (collectives/matcher.h). A communicator with few or
// periodic calls can be ambiguous alone; the groups that did match tell how far the clocks of its members lie apart,
// and with that prior it is tried again. Calls without any group metadata form a group per stream; the members that
// ends and lateness prove to belong together become an inferred communicator. Why right: a prior only narrows the
// search; every match still has to agree in signature, ends and causality. Cost: two passes of O(n log n); groups run
// in parallel and write one slot each, in the process that owns them; between processes go the calls once, then offsets
// and the instances found.

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "call_groups.h"
#include "coarse_offsets.h"
#include "joint_offsets.h"
#include "number_instances.h"
#include "skewscope/matching.h"

namespace skewscope {
namespace {

using matching::CallGroup;
using matching::CoarseOffsets;
using matching::GroupedCalls;

bool all_settled(const std::vector<MatchOutcome>& outcomes, Exchange& exchange) {
  const bool own = std::all_of(outcomes.begin(), outcomes.end(), [](const MatchOutcome& o) { return o.settled; });
  const std::vector<char> all = all_rows(exchange, std::vector<char>{own ? '\1' : '\0'});
  return std::all_of(all.begin(), all.end(), [](char one) { return one != 0; });
}

// Of messages in steps that both ends recorded whole: how many there are, and how many one end has more of than the
// other.
struct Counted {
  int64_t messages = 0, uneven = 0;

  Counted& operator+=(const Counted& other) {
    messages += other.messages;
    uneven += other.uneven;
    return *this;
  }
};

// Calls of each step but the first and the last, which the recording may cut.
std::map<int64_t, int64_t> calls_by_step(const std::vector<const CollectiveCall*>& calls) {
  std::map<int64_t, int64_t> count;
  for (const CollectiveCall* call : calls) ++count[call->step];
  count.erase(-1);
  for (const bool last : {false, true}) {
    if (!count.empty()) count.erase(last ? std::prev(count.end()) : count.begin());
  }
  return count;
}

Counted count_of(const CallGroup& group) {
  const std::map<int64_t, int64_t> own = calls_by_step(group.calls[0]), other = calls_by_step(group.calls[1]);
  Counted found;
  for (const auto& [step, calls] : own) {
    const auto there = other.find(step);
    if (there == other.end()) continue;
    found.messages += std::max(calls, there->second);
    found.uneven += std::abs(calls - there->second);
  }
  return found;
}

// The share of messages that one end lacks.
double lost_share(const std::vector<CallGroup>& groups, Exchange& exchange) {
  std::vector<Counted> found(1);
  for (const CallGroup& group : groups) {
    if (group.key.pair() && group.members.size() == 2) found.front() += count_of(group);
  }
  Counted all;
  for (const Counted& own : all_rows(exchange, std::move(found))) all += own;
  return all.messages == 0 ? 0 : static_cast<double>(all.uneven) / static_cast<double>(all.messages);
}

// Whether both ends of a pair may lack equally many calls of one step, and none be the wiser: where the two are even,
// order is believed.
bool is_lossy(const CallGroup& group, double lost) {
  constexpr double kMostLost = 0.05;  // per step: of as many both ends lack one in a few of a thousand steps
  if (!group.key.pair() || lost == 0) return false;
  std::set<int64_t> steps;
  size_t calls = 0;
  for (const auto& of_member : group.calls) {
    for (const CollectiveCall* call : of_member) steps.insert(call->step);
    calls = std::max(calls, of_member.size());
  }
  return lost / 2 * static_cast<double>(calls) > kMostLost * static_cast<double>(steps.size());
}

std::vector<MatchOutcome> match_alone(const std::vector<CallGroup>& groups, double lost) {
  std::vector<MatchOutcome> outcomes(groups.size());
  tbb::parallel_for(size_t{0}, groups.size(), [&](size_t g) {
    outcomes[g] =
        match_members(groups[g].matcher_view(), groups[g].membership, {{}, groups[g].host, is_lossy(groups[g], lost)});
  });
  return outcomes;
}

// Once more, with `prior_of` each group that did not settle alone.
template <class PriorOf>
void match_with(const std::vector<CallGroup>& groups, double lost, const PriorOf& prior_of,
                std::vector<MatchOutcome>& outcomes) {
  tbb::parallel_for(size_t{0}, groups.size(), [&](size_t g) {
    if (outcomes[g].settled) return;
    const std::vector<std::optional<Prior>> told = prior_of(groups[g]);
    const bool any = std::any_of(told.begin(), told.end(), [](const auto& prior) { return prior.has_value(); });
    if (any)
      outcomes[g] = match_members(groups[g].matcher_view(), groups[g].membership,
                                  {told, groups[g].host, is_lossy(groups[g], lost)});
  });
}

}  // namespace

InstanceTable match_collectives(const JobTrace& job, Exchange& exchange, MatchedAlone* kept) {
  GroupedCalls calls = matching::group_calls(job, exchange);
  const double lost = lost_share(calls.groups, exchange);
  std::vector<MatchOutcome> outcomes = match_alone(calls.groups, lost);
  const bool by_coarse_clocks = !all_settled(outcomes, exchange);
  if (by_coarse_clocks) {
    if (kept != nullptr) kept->outcomes = outcomes;
    // From here on the clocks of traces that share a matched group are known to a millisecond.
    CoarseOffsets first = matching::coarse_offsets(job.traces.size(), calls.groups, outcomes, exchange);
    // And those of traces that share several groups of which none could be matched alone.
    matching::join_components(calls.groups, outcomes, exchange, first);
    match_with(
        calls.groups, lost, [&](const CallGroup& group) { return matching::prior_for(group, first); }, outcomes);
  }
  InstanceTable table = matching::number_instances(job, std::move(calls), outcomes, exchange);
  table.by_coarse_clocks = by_coarse_clocks;
  return table;
}

InstanceTable match_again(const JobTrace& job, const ClockModel& clocks, MatchedAlone kept, Exchange& exchange) {
  GroupedCalls calls = matching::group_calls(job, exchange);
  assert(kept.outcomes.size() == calls.groups.size());
  const double lost = lost_share(calls.groups, exchange);
  match_with(
      calls.groups, lost, [&](const CallGroup& group) { return matching::prior_from_clocks(group, clocks); },
      kept.outcomes);
  return matching::number_instances(job, std::move(calls), kept.outcomes, exchange);
}

}  // namespace skewscope
