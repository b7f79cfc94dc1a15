// The k-th calls of members that run the same program, side by side: what may be one call of each, where no trace names
// a group and clocks are not known. That they are one collective is for others to prove.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "candidates.h"

namespace skewscope {

// On the first member's clock as the ends tell it; each candidate holds all members, in the order asked.
struct OrderedCandidates {
  CandidateInstances candidates;
  bool by_step = true;  // of the steps in which all made the same calls; else of all calls
};

// None where members made other calls, in half of the steps or more.
std::optional<OrderedCandidates> candidates_in_order(const std::vector<MemberCalls>& members,
                                                     const std::vector<int32_t>& open);

}  // namespace skewscope
