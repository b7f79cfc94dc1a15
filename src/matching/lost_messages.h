// How many messages are lost, by steps: both ends of a pair make equally many calls in each.
#pragma once

#include <cstdint>
#include <vector>

#include "call_groups.h"

namespace skewscope::matching {

// How many messages lie in steps that both ends recorded whole, and how many one end has more of than the other.
struct LostMessages {
  int64_t messages = 0, uneven = 0;

  // The share that one end lacks: as counted, and as may be expected after so many (Laplace's rule).
  double share() const { return messages == 0 ? 0 : static_cast<double>(uneven) / static_cast<double>(messages); }
  double likely_share() const { return static_cast<double>(uneven + 1) / static_cast<double>(messages + 2); }
};

// Over the groups of all processes.
LostMessages count_lost_messages(const std::vector<CallGroup>& groups, Exchange& exchange);

// Whether both ends of a pair may lack equally many calls of one step, and none be the wiser: where the two are even,
// order is believed.
bool is_lossy(const CallGroup& group, const LostMessages& lost);

}  // namespace skewscope::matching
