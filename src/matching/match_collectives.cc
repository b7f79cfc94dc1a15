// The stage: group calls, match each group alone, then once more with what the others told.
//
// Problem: which calls of which ranks are one collective, when windows differ, kernels are missing, clocks are unknown.
// Idea: calls of one communicator are matched by key or by time (collectives/matcher.h). A communicator with few or
// periodic calls can be ambiguous alone; the groups that did match tell how far the clocks of its members lie apart,
// and with that prior it is tried again. Messages are looked at once more on fitted clocks where some are missing or
// cause and effect contradict what order told (collectives/message_pairs.h). Calls without any group metadata form a
// group per stream; the members that ends and lateness prove to belong together become an inferred communicator. Why
// right: a prior only narrows the search; every match still has to agree in signature, ends and causality. Cost: two
// passes of O(n log n); groups run in parallel and write one slot each, in the process that owns them; between
// processes go the calls once, then offsets and the instances found.

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
#include "collectives/message_pairs.h"
#include "joint_offsets.h"
#include "number_instances.h"
#include "skewscope/matching.h"

namespace skewscope {
namespace {

using matching::CallGroup;
using matching::CoarseOffsets;
using matching::GroupedCalls;

bool any_process(bool own, Exchange& exchange) {
  const std::vector<char> all = all_rows(exchange, std::vector<char>{own ? '\1' : '\0'});
  return std::any_of(all.begin(), all.end(), [](char one) { return one != 0; });
}

bool all_settled(const std::vector<MatchOutcome>& outcomes, Exchange& exchange) {
  return !any_process(std::any_of(outcomes.begin(), outcomes.end(), [](const MatchOutcome& o) { return !o.settled; }),
                      exchange);
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
  // That one end lacks: as counted, and as may be expected after so many (Laplace's rule).
  double share() const { return messages == 0 ? 0 : static_cast<double>(uneven) / static_cast<double>(messages); }
  double likely_share() const { return static_cast<double>(uneven + 1) / static_cast<double>(messages + 2); }
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

Counted count_all(const std::vector<CallGroup>& groups, Exchange& exchange) {
  std::vector<Counted> found(1);
  for (const CallGroup& group : groups) {
    if (group.key.pair() && group.members.size() == 2) found.front() += count_of(group);
  }
  Counted all;
  for (const Counted& own : all_rows(exchange, std::move(found))) all += own;
  return all;
}

// Whether both ends of a pair may lack equally many calls of one step, and none be the wiser: where the two are even,
// order is believed.
bool is_lossy(const CallGroup& group, const Counted& lost) {
  constexpr double kMostLost = 0.05;  // per step: of as many both ends lack one in a few of a thousand steps
  if (!group.key.pair() || lost.uneven == 0) return false;
  std::set<int64_t> steps;
  size_t calls = 0;
  for (const auto& of_member : group.calls) {
    for (const CollectiveCall* call : of_member) steps.insert(call->step);
    calls = std::max(calls, of_member.size());
  }
  return lost.share() / 2 * static_cast<double>(calls) > kMostLost * static_cast<double>(steps.size());
}

std::vector<MatchOutcome> match_alone(const std::vector<CallGroup>& groups, const Counted& lost) {
  std::vector<MatchOutcome> outcomes(groups.size());
  tbb::parallel_for(size_t{0}, groups.size(), [&](size_t g) {
    outcomes[g] =
        match_members(groups[g].matcher_view(), groups[g].membership, {{}, groups[g].host, is_lossy(groups[g], lost)});
  });
  return outcomes;
}

// Once more, with `prior_of` each group that did not settle alone.
template <class PriorOf>
void match_with(const std::vector<CallGroup>& groups, const Counted& lost, const PriorOf& prior_of,
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

// Whether messages of some pair have no partner: one was lost, or a window cut off.
bool any_left(const std::vector<CallGroup>& groups, const std::vector<MatchOutcome>& outcomes, Exchange& exchange) {
  const auto named = [](const MatchOutcome::Left& left) { return left.reason != Refusal::unnamed; };
  bool left = false;
  for (size_t g = 0; g < outcomes.size() && !left; ++g) {
    left = groups[g].key.pair() && std::any_of(outcomes[g].left.begin(), outcomes[g].left.end(), named);
  }
  return any_process(left, exchange);
}

// The calls of a pair's members on the common clock, and its error between them; nullopt where no clock ties the two,
// or all leave together, so that ends tell.
struct OnCommonClock {
  std::vector<MemberCalls> members;
  int64_t error_ns = 0;
};
std::optional<OnCommonClock> on_common_clock(const CallGroup& group, const ClockModel& clocks) {
  if (!group.key.pair() || group.members.size() != 2) return std::nullopt;
  OnCommonClock pair{group.matcher_view(), 0};
  int32_t component = -1;
  bool any_message = false;
  for (size_t m = 0; m < 2; ++m) {
    const TraceClock& clock = clocks.clocks[group.members[m].index()];
    if (!clock.aligned || clock.component < 0 || clock.uncertainty_ns < 0) return std::nullopt;
    if (m > 0 && clock.component != component) return std::nullopt;
    component = clock.component;
    pair.error_ns += clock.uncertainty_ns;
    for (MatchCall& call : pair.members[m]) {
      any_message = any_message || call.is_message();
      call.start_ns = clocks.to_job(group.members[m], LocalNs{call.start_ns}).ns;
      call.end_ns = clocks.to_job(group.members[m], LocalNs{call.end_ns}).ns;
    }
  }
  return any_message ? std::optional(std::move(pair)) : std::nullopt;
}

// Messages once more on fitted clocks: all where some have no partner, for elsewhere both sides may have lost one; else
// those of pairs that were not settled, or that cause and effect contradict. Where there are
// steps to count in and none shows a loss, order stands in for what no time tells.
void pair_again(const std::vector<CallGroup>& groups, const Counted& lost, const ClockModel& clocks, Exchange& exchange,
                std::vector<MatchOutcome>& outcomes) {
  const bool all = any_left(groups, outcomes, exchange);
  tbb::parallel_for(size_t{0}, groups.size(), [&](size_t g) {
    const std::optional<OnCommonClock> pair = on_common_clock(groups[g], clocks);
    if (!pair) return;
    const bool doubtful = all || !outcomes[g].settled || receives_unsent(pair->members, outcomes[g], pair->error_ns);
    if (!doubtful) return;
    const bool whole = lost.messages > 0 && lost.uneven == 0;
    const MatchOutcome in_order = whole ? std::move(outcomes[g]) : MatchOutcome();
    outcomes[g] = pair_messages(pair->members, pair->error_ns, lost.likely_share(), in_order);
  });
}

}  // namespace

InstanceTable match_collectives(const JobTrace& job, Exchange& exchange, MatchedAlone* kept) {
  GroupedCalls calls = matching::group_calls(job, exchange);
  const Counted lost = count_all(calls.groups, exchange);
  std::vector<MatchOutcome> outcomes = match_alone(calls.groups, lost);
  const bool messages =
      std::any_of(calls.groups.begin(), calls.groups.end(), [](const CallGroup& group) { return group.key.pair(); });
  const bool settled = all_settled(outcomes, exchange);
  if (kept != nullptr && (messages || !settled)) kept->outcomes = outcomes;
  if (!settled) {
    // From here on the clocks of traces that share a matched group are known to a millisecond.
    CoarseOffsets first = matching::coarse_offsets(job.traces.size(), calls.groups, outcomes, exchange);
    // And those of traces that share several groups of which none could be matched alone.
    matching::join_components(calls.groups, outcomes, exchange, first);
    match_with(
        calls.groups, lost, [&](const CallGroup& group) { return matching::prior_for(group, first); }, outcomes);
  }
  const bool left = any_left(calls.groups, outcomes, exchange);
  InstanceTable table = matching::number_instances(job, std::move(calls), outcomes, exchange);
  table.clocks_may_tell = !settled || left;
  return table;
}

InstanceTable match_again(const JobTrace& job, const ClockModel& clocks, MatchedAlone kept, Exchange& exchange) {
  GroupedCalls calls = matching::group_calls(job, exchange);
  assert(kept.outcomes.size() == calls.groups.size());
  const Counted lost = count_all(calls.groups, exchange);
  match_with(
      calls.groups, lost, [&](const CallGroup& group) { return matching::prior_from_clocks(group, clocks); },
      kept.outcomes);
  pair_again(calls.groups, lost, clocks, exchange, kept.outcomes);
  return matching::number_instances(job, std::move(calls), kept.outcomes, exchange);
}

namespace {

// Whether some message is received before it was sent, by more than both clocks may err.
bool contradicts(const InstanceTable& table, const ClockModel& clocks) {
  const auto unsent = [&](uint32_t receiver, uint32_t sender) {
    const TraceIndex to = table.members[receiver].trace, from = table.members[sender].trace;
    const TraceClock &of_receiver = clocks.clocks[to.index()], &of_sender = clocks.clocks[from.index()];
    if (of_receiver.component < 0 || of_receiver.component != of_sender.component) return false;
    if (of_receiver.uncertainty_ns < 0 || of_sender.uncertainty_ns < 0) return false;
    return clocks.to_job(to, table.spans[receiver].end()) + (of_receiver.uncertainty_ns + of_sender.uncertainty_ns) <
           clocks.to_job(from, table.spans[sender].start);
  };
  for (const CollectiveInstance& i : table.instances) {
    if (i.kind != CollectiveKind::send || i.member_count != 2 || i.special < 0) continue;
    const auto sender = static_cast<uint32_t>(i.special);
    if (unsent(i.first_member + 1 - sender, i.first_member + sender)) return true;
  }
  return std::any_of(table.links.begin(), table.links.end(),
                     [&](const BatchLink& link) { return link.receives && unsent(link.row, link.partner); });
}

}  // namespace

bool clocks_tell_more(const InstanceTable& table, const ClockModel& clocks) {
  const bool any_tied = std::any_of(clocks.clocks.begin(), clocks.clocks.end(),
                                    [](const TraceClock& clock) { return clock.component >= 0; });
  return (table.clocks_may_tell && (any_tied || !table.instances.empty())) || contradicts(table, clocks);
}

}  // namespace skewscope
