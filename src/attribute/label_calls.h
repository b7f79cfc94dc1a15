// The second pass: of every call and every step, what of it was exposed, from the rows of its trace; done where these
// are and made known to all processes.
#pragma once

#include <vector>

#include "split_instances.h"

namespace skewscope::attribute {

// Fills the calls, steps, rests and classes of `d`, whose instances and kinds of groups are there. Returns per trace
// what was exposed from its first call to the end of its last one.
std::vector<StepParts> label_calls(const JobTrace& job, const InstanceTable& table, const ClockModel& clocks,
                                   const InstanceWaits& waits, Exchange& exchange, Decomposition& d);

}  // namespace skewscope::attribute
