// The k-th calls of members that run the same program, side by side: what may be one call of each, where no trace names
// a group and clocks are not known. That they are one collective is for others to prove.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "match_rows.h"

namespace skewscope {

// A call's step, how many calls the member made in it, and which of them it was.
struct StepPlace {
  int64_t step;
  size_t of, ordinal;
  friend bool operator==(const StepPlace&, const StepPlace&) = default;
};

// None where some call is in no step, or its members do not leave together.
std::vector<StepPlace> step_places(const MemberCalls& calls);

// On the first member's clock as the ends tell it; each row holds all members, in the order asked.
struct OrderedRows {
  Rows rows;
  bool by_step = true;  // of the steps in which all made the same calls; else of all calls
};

// None where members made other calls, in half of the steps or more.
std::optional<OrderedRows> rows_in_order(const std::vector<MemberCalls>& members, const std::vector<int32_t>& open);

}  // namespace skewscope
