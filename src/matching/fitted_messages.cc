#include "fitted_messages.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <optional>

#include "collectives/matcher/message_pairs.h"

namespace skewscope::matching {
namespace {

// The calls of a pair's members on the common clock, and its error between them; nullopt where no clock aligns the two,
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

}  // namespace

bool any_left(const std::vector<CallGroup>& groups, const std::vector<MatchOutcome>& outcomes, Exchange& exchange) {
  const auto named = [](const MatchOutcome::Left& left) { return left.reason != UnmatchedReason::no_metadata; };
  bool left = false;
  for (size_t g = 0; g < outcomes.size() && !left; ++g) {
    left = groups[g].key.pair() && std::any_of(outcomes[g].left.begin(), outcomes[g].left.end(), named);
  }
  return any_process(exchange, left);
}

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

void pair_on_clocks(const std::vector<CallGroup>& groups, const LostMessages& lost, const ClockModel& clocks,
                    Exchange& exchange, std::vector<MatchOutcome>& outcomes) {
  const bool all = any_left(groups, outcomes, exchange);
  // Where there are steps to count in and none shows a loss, order replaces what no time tells.
  const OrderTells order =
      lost.messages > 0 && lost.uneven == 0 ? OrderTells::what_time_does_not : OrderTells::long_steps;
  tbb::parallel_for(size_t{0}, groups.size(), [&](size_t g) {
    const std::optional<OnCommonClock> pair = on_common_clock(groups[g], clocks);
    if (!pair) return;
    const bool doubtful = all || !outcomes[g].settled || receives_unsent(pair->members, outcomes[g], pair->error_ns);
    if (!doubtful) return;
    outcomes[g] = pair_messages(pair->members, pair->error_ns, lost.likely_share(), outcomes[g], order);
  });
}

}  // namespace skewscope::matching
