// Where the fit starts: resistant lines along a maximum spanning forest of the traces, most shared rows first, so that
// half of the ends may be wild. Traces tied by no row in `use` start, and stay, at their own wall clock.
// Cost: O(observations log observations).
#pragma once

#include "beacons.h"
#include "fit.h"

namespace skewscope::align {

// Sets window, bases, a, b and component of `fit`, as its freedom allows.
void start_values(const Beacons& beacons, const std::vector<bool>& use, Fit& fit);

}  // namespace skewscope::align
