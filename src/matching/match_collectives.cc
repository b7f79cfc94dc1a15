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
#include <iterator>
#include <map>
#include <optional>

#include "call_groups.h"
#include "coarse_offsets.h"
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

// Of a pair: steps that both ends recorded whole, and those of them in which they recorded unequally many calls.
struct UnevenSteps {
  int64_t steps = 0, uneven = 0;

  UnevenSteps& operator+=(const UnevenSteps& other) {
    steps += other.steps;
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

UnevenSteps uneven_steps(const CallGroup& group) {
  const std::map<int64_t, int64_t> own = calls_by_step(group.calls[0]), other = calls_by_step(group.calls[1]);
  UnevenSteps found;
  for (const auto& [step, calls] : own) {
    const auto there = other.find(step);
    if (there == other.end()) continue;
    ++found.steps;
    found.uneven += there->second != calls ? 1 : 0;
  }
  return found;
}

// Whether calls are missing here and there: of the steps that two ranks' messages fill, more than a few hold more of
// them at one end than at the other. Then there are steps, too, of which both ends lack equally many.
bool is_lossy(const std::vector<CallGroup>& groups, Exchange& exchange) {
  constexpr int64_t kFew = 20;  // one in so many
  std::vector<UnevenSteps> found(1);
  for (const CallGroup& group : groups) {
    if (group.key.pair() && group.members.size() == 2) found.front() += uneven_steps(group);
  }
  UnevenSteps all;
  for (const UnevenSteps& own : all_rows(exchange, std::move(found))) all += own;
  return kFew * all.uneven > all.steps;
}

std::vector<MatchOutcome> match_alone(const std::vector<CallGroup>& groups, bool lossy) {
  std::vector<MatchOutcome> outcomes(groups.size());
  tbb::parallel_for(size_t{0}, groups.size(), [&](size_t g) {
    outcomes[g] = match_members(groups[g].matcher_view(), groups[g].membership, {{}, groups[g].host, lossy});
  });
  return outcomes;
}

// Once more, with `prior_of` each group that did not settle alone.
template <class PriorOf>
void match_with(const std::vector<CallGroup>& groups, bool lossy, const PriorOf& prior_of,
                std::vector<MatchOutcome>& outcomes) {
  tbb::parallel_for(size_t{0}, groups.size(), [&](size_t g) {
    if (outcomes[g].settled) return;
    const std::vector<std::optional<Prior>> told = prior_of(groups[g]);
    const bool any = std::any_of(told.begin(), told.end(), [](const auto& prior) { return prior.has_value(); });
    if (any) outcomes[g] = match_members(groups[g].matcher_view(), groups[g].membership, {told, groups[g].host, lossy});
  });
}

}  // namespace

InstanceTable match_collectives(const JobTrace& job, Exchange& exchange) {
  GroupedCalls calls = matching::group_calls(job, exchange);
  const bool lossy = is_lossy(calls.groups, exchange);
  std::vector<MatchOutcome> outcomes = match_alone(calls.groups, lossy);
  const bool by_coarse_clocks = !all_settled(outcomes, exchange);
  if (by_coarse_clocks) {
    // From here on the clocks of traces that share a matched group are known to a millisecond.
    const CoarseOffsets first = matching::coarse_offsets(job.traces.size(), calls.groups, outcomes, exchange);
    match_with(
        calls.groups, lossy, [&](const CallGroup& group) { return matching::prior_for(group, first); }, outcomes);
  }
  InstanceTable table = matching::number_instances(job, std::move(calls), outcomes, exchange);
  table.by_coarse_clocks = by_coarse_clocks;
  return table;
}

InstanceTable match_again(const JobTrace& job, const ClockModel& clocks, Exchange& exchange) {
  GroupedCalls calls = matching::group_calls(job, exchange);
  const bool lossy = is_lossy(calls.groups, exchange);
  std::vector<MatchOutcome> outcomes = match_alone(calls.groups, lossy);
  match_with(
      calls.groups, lossy, [&](const CallGroup& group) { return matching::prior_from_clocks(group, clocks); },
      outcomes);
  return matching::number_instances(job, std::move(calls), outcomes, exchange);
}

}  // namespace skewscope
