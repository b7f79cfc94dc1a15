#pragma once

#include <vector>

#include "skewscope/lanes.h"

namespace skewscope::lanes {

struct ChosenTrace {
  TraceIndex trace;
  LaneReason reason = LaneReason::sample;
};

// At most kMostLanes, by trace.
std::vector<ChosenTrace> choose_ranks(const Decomposition& decomposition, const Blame& blame);

}  // namespace skewscope::lanes
