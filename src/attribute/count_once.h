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

// Takes from the exposed parts of each call what is another's. `calls`: all of one trace, in any order.
void count_once(std::vector<TimedParts>& calls, const BusyIntervals& busy);

}  // namespace skewscope::attribute
