// Stage: GPU rows and who was late -> WorkLanes: what a few ranks' GPUs did, to look at.
#pragma once

#include "skewscope/model/blame.h"
#include "skewscope/model/clock_model.h"
#include "skewscope/model/work_lanes.h"

namespace skewscope {

constexpr size_t kMostLanes = 24;         // of a larger job, culprits, victims and an even sample
constexpr size_t kMostBlocks = 48 << 10;  // of all lanes together

constexpr size_t kMostIdle = 1024, kMostIdleOfMany = 256;  // gaps of a lane; where there are more traces than lanes

// Of one of so many traces, whose launches must still be there.
IdleTimes idle_times(const RankTrace& trace, size_t traces);

// `idle`: row = TraceIndex, of the traces that this process holds. In several processes, process 0 alone needs the
// blame, and it alone gets the lanes.
WorkLanes draw_lanes(const JobTrace& job, const ClockModel& clocks, const Decomposition& decomposition,
                     const Blame& blame, const std::vector<IdleTimes>& idle, Exchange& exchange = alone());

}  // namespace skewscope
