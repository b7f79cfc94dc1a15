// When a GPU was idle, and why.
#pragma once

#include <vector>

#include "skewscope/model/rank_trace.h"
#include "skewscope/model/work_lanes.h"

namespace skewscope::lanes {

// The `most` longest, by time; `left_out_ns`: the longest of the others, 0 where there are none. Needs the trace's
// launches.
std::vector<IdleStretch> longest_idle_stretches(const RankTrace& trace, size_t most, int64_t& left_out_ns);

}  // namespace skewscope::lanes
