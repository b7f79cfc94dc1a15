// Messages once more, on fitted clocks: where some have no partner, and where cause and effect contradict what order
// said (collectives/matcher/message_pairs.h).
#pragma once

#include <vector>

#include "call_groups.h"
#include "lost_messages.h"
#include "skewscope/model/clock_model.h"

namespace skewscope::matching {

// Whether messages of some pair, in any process, have no partner: one was lost, or a window cut off.
bool any_left(const std::vector<CallGroup>& groups, const std::vector<MatchOutcome>& outcomes, Exchange& exchange);

// Whether some message is received before it was sent, by more than both clocks may err.
bool contradicts(const InstanceTable& table, const ClockModel& clocks);

// Pairs the messages again: all where some have no partner, for elsewhere both sides may have lost one; else those of
// groups that were not settled, or that cause and effect contradict.
void pair_on_clocks(const std::vector<CallGroup>& groups, const LostMessages& lost, const ClockModel& clocks,
                    Exchange& exchange, std::vector<MatchOutcome>& outcomes);

}  // namespace skewscope::matching
