// Stage: instances on the common clock -> Decomposition: wait, transfer and who was late.
#pragma once

#include "skewscope/model/clock_model.h"
#include "skewscope/model/decomposition.h"

namespace skewscope {

// In one process or several; all get the same decomposition.
Decomposition attribute_time(const JobTrace& job, const InstanceTable& instances, const ClockModel& clocks,
                             Exchange& exchange = alone());

}  // namespace skewscope
