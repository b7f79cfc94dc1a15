// Which freedom do the clocks of one component deserve: none, an offset, or an offset and a drift?
//
// Judged by ends that took no part in the fit: every second instance of each communicator is held out; the loss is the
// mean over classes of log(median distance of corrected ends to their row's median). The simplest model within 5 % of
// the best is taken, and none at all unless it gains 10 % and the recorded ends scatter by more than stamps and kernels
// explain (95th percentile above 2 us and above the stamps' resolution).
// Where too little can be held out: an offset when the recorded stamps contradict causality, else identity.
#pragma once

#include "joint_fit.h"

namespace skewscope::align {

// `use`: the rows of one component. `force`: the best correction even where nothing is gained.
Freedom choose_freedom(const Beacons& beacons, const std::vector<bool>& use, int64_t resolution_ns, bool force);

}  // namespace skewscope::align
