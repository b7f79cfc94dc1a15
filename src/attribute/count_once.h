// Exposed time of calls that overlap, each nanosecond given to one of them. See count_once.cc.
#pragma once

#include <vector>

#include "busy_intervals.h"
#include "skewscope/model/decomposition.h"

namespace skewscope::attribute {

struct TimedParts {
  LocalNs start;
  CallParts parts;
};

// Of all calls of one trace, in any order: takes from the exposed parts of each what is another's.
void count_once(std::vector<TimedParts>& calls, const BusyIntervals& busy);

}  // namespace skewscope::attribute
