// Stage: waits and who was late -> Blame: why, and whose lateness it was in the end.
#pragma once

#include <functional>

#include "skewscope/model/blame.h"
#include "skewscope/model/clock_model.h"

namespace skewscope {

// In several processes, process 0 must know the calls of all traces (gather_calls), and it alone gets the blame.
// `launches_read`: called once nothing will ask any more when the rows of a trace were launched, and on which stream;
// from several threads. Not for a job without instances.
Blame find_blame(const JobTrace& job, const InstanceTable& instances, const ClockModel& clocks,
                 const Decomposition& decomposition, Exchange& exchange = alone(),
                 const std::function<void(TraceIndex)>& launches_read = {});

}  // namespace skewscope
