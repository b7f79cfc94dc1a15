// By how much do ends hang together? The variance of their means over that of means of as many independent ends.
//
// Problem: ends of one collective lie apart by what its last piece takes to travel, and over sockets one member may be
// last for a whole step: ten ends that agree are one accident then, and look like an offset known to a tenth of it.
// Idea: batch means (Conway 1963; Fishman & Yarberry 1997): each member's distances from its rows' middles, class by
// class, in blocks of time; mean square between blocks over mean square within, of all together. Why right: independent
// ends give 1. What four deviations of that ratio do not exclude is taken for 1. Cost: O(ends).
#pragma once

#include "beacons.h"
#include "fit.h"

namespace skewscope::align {

// At least 1. `fit`: what clocks explain of the ends, a line.
double clumping(const Beacons& beacons, const std::vector<bool>& use, const Fit& fit);

}  // namespace skewscope::align
