// Stage: GPU rows and who was late -> WorkLanes: what a few ranks' GPUs did, to look at.
#pragma once

#include "skewscope/model/blame.h"
#include "skewscope/model/clock_model.h"
#include "skewscope/model/work_lanes.h"

namespace skewscope {

constexpr size_t kMostLanes = 24;         // of a larger job, culprits, victims and an even sample
constexpr size_t kMostBlocks = 48 << 10;  // of all lanes together

// In several processes, process 0 alone needs the blame, and it alone gets the lanes.
WorkLanes draw_lanes(const JobTrace& job, const ClockModel& clocks, const Decomposition& decomposition,
                     const Blame& blame, Exchange& exchange = alone());

}  // namespace skewscope
