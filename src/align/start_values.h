// Where fits of the same rows start: resistant lines along a maximum spanning forest of the traces, most shared rows
// first, so that half of the ends may be wild. Traces joined by no row start, and stay, at their own wall clock.
// Cost: O(observations log observations).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "beacons.h"
#include "collectives/matcher/clock_line.h"
#include "fit.h"

namespace skewscope::align {

// A neighbour in the forest.
struct ForestStep {
  size_t to;
  ClockLine line;
  bool forward;  // line maps `to` onto this trace; else this trace onto `to`
};

// The rows that take part in a fit, and what they tie.
struct TiedRows {
  std::vector<bool> use;                        // per row
  std::vector<std::vector<ForestStep>> forest;  // per trace
  std::vector<int32_t> component;               // per trace: the smallest that is joined to it
};

TiedRows tie_rows(const Beacons& beacons, std::vector<bool> use);

// Sets window, bases, a, b and component of `fit`, as its freedom allows.
void start_values(const Beacons& beacons, const TiedRows& rows, Fit& fit);

}  // namespace skewscope::align
