// The stage: group calls, match each group alone, then once more with what the others showed.
//
// Problem: which calls of which ranks are one collective, when windows differ, kernels are missing, clocks are unknown.
// Idea: calls of one communicator are matched by key or by time (collectives/matcher/matcher.h). A communicator with
// few or periodic calls can be ambiguous alone; the groups that did match tell how far the clocks of its members lie
// apart, and with that prior it is tried again. Messages are looked at once more on fitted clocks where some are
// missing or cause and effect contradict what order said (fitted_messages.h). Calls without any group metadata form a
// group per stream; the members that ends and lateness prove to belong together become an inferred communicator. Why
// right: a prior only narrows the search; every match still has to agree in signature, ends and causality. Cost: two
// passes of O(n log n); groups run in parallel and write one slot each, in the process that owns them; between
// processes go the calls once, then offsets and the instances found.

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cassert>
#include <optional>

#include "call_groups.h"
#include "coarse_offsets.h"
#include "fitted_messages.h"
#include "found_groups.h"
#include "joint_offsets.h"
#include "lost_messages.h"
#include "number_instances.h"
#include "skewscope/matching.h"

namespace skewscope {
namespace {

using matching::CallGroup;
using matching::CoarseOffsets;
using matching::FoundGroups;
using matching::GroupedCalls;
using matching::LostMessages;

bool all_settled(const std::vector<MatchOutcome>& outcomes, Exchange& exchange) {
  const auto open = [](const MatchOutcome& outcome) { return !outcome.settled; };
  return !any_process(exchange, std::any_of(outcomes.begin(), outcomes.end(), open));
}

std::vector<MatchOutcome> match_alone(const std::vector<CallGroup>& groups, const LostMessages& lost) {
  std::vector<MatchOutcome> outcomes(groups.size());
  tbb::parallel_for(size_t{0}, groups.size(), [&](size_t g) {
    outcomes[g] = match_members(groups[g].matcher_view(), groups[g].membership,
                                {{}, groups[g].host, matching::is_lossy(groups[g], lost), groups[g].alone});
  });
  return outcomes;
}

// Matches the groups that did not settle alone once more, with `prior_of` each and with the groups that were found.
template <class PriorOf>
void match_with(const std::vector<CallGroup>& groups, const LostMessages& lost, const PriorOf& prior_of,
                Exchange& exchange, std::vector<MatchOutcome>& outcomes) {
  const FoundGroups found = matching::found_groups(groups, outcomes, exchange);
  tbb::parallel_for(size_t{0}, groups.size(), [&](size_t g) {
    if (outcomes[g].settled) return;
    const std::vector<std::optional<Prior>> prior = prior_of(groups[g]);
    const std::vector<std::vector<int32_t>> on_other_streams = matching::groups_of_other_streams(groups[g], found);
    const bool alone = matching::is_alone(groups[g], found);
    const bool any = std::any_of(prior.begin(), prior.end(), [](const auto& one) { return one.has_value(); });
    if (!any && !alone && on_other_streams.empty()) return;
    outcomes[g] = match_members(groups[g].matcher_view(), groups[g].membership,
                                {prior, groups[g].host, matching::is_lossy(groups[g], lost), alone, on_other_streams});
  });
}

}  // namespace

InstanceTable match_collectives(const JobTrace& job, Exchange& exchange, MatchedAlone* kept) {
  GroupedCalls calls = matching::group_calls(job, exchange);
  const LostMessages lost = matching::count_lost_messages(calls.groups, exchange);
  std::vector<MatchOutcome> outcomes = match_alone(calls.groups, lost);
  const auto of_messages = [](const CallGroup& group) { return group.key.pair(); };
  const bool messages = any_process(exchange, std::any_of(calls.groups.begin(), calls.groups.end(), of_messages));
  const bool settled = all_settled(outcomes, exchange);
  if (kept != nullptr && (messages || !settled)) kept->outcomes = outcomes;
  if (!settled) {
    // From here on the clocks of traces that share a matched group are known to a millisecond.
    CoarseOffsets first = matching::coarse_offsets(job.traces.size(), calls.groups, outcomes, exchange);
    // And those of traces that share several groups of which none could be matched alone.
    matching::join_components(calls.groups, outcomes, exchange, first);
    match_with(
        calls.groups, lost, [&](const CallGroup& group) { return matching::prior_for(group, first); }, exchange,
        outcomes);
  }
  const bool left = matching::any_left(calls.groups, outcomes, exchange);
  InstanceTable table = matching::number_instances(job, std::move(calls), outcomes, exchange);
  table.clocks_may_tell = !settled || left;
  return table;
}

InstanceTable match_again(const JobTrace& job, const ClockModel& clocks, MatchedAlone kept, Exchange& exchange) {
  GroupedCalls calls = matching::group_calls(job, exchange);
  assert(kept.outcomes.size() == calls.groups.size());
  const LostMessages lost = matching::count_lost_messages(calls.groups, exchange);
  match_with(
      calls.groups, lost, [&](const CallGroup& group) { return matching::prior_from_clocks(group, clocks); }, exchange,
      kept.outcomes);
  matching::pair_on_clocks(calls.groups, lost, clocks, exchange, kept.outcomes);
  return matching::number_instances(job, std::move(calls), kept.outcomes, exchange);
}

bool clocks_tell_more(const InstanceTable& table, const ClockModel& clocks) {
  const bool any_tied = std::any_of(clocks.clocks.begin(), clocks.clocks.end(),
                                    [](const TraceClock& clock) { return clock.component >= 0; });
  return (table.clocks_may_tell && (any_tied || !table.instances.empty())) || matching::contradicts(table, clocks);
}

}  // namespace skewscope
