// How wrong may clocks be? Half widths of 95 % intervals, from
//   the fit:     the spread of simulated errors (simulated_errors.h), at the worst of the window's quarters
//   skew:        half the shift of ends between balanced and unbalanced rows: latency waves behind a late member
//   model:       what a freedom that was not applied (identity, offset) would have changed
//   resolution:  a step of the time stamps: half of it at either side of a difference
// Source: METHOD.md, section 5; the loop closure of Huygens (Geng et al. 2018) enters as the excess
// of the members' mean residuals over simulated ones.
#pragma once

#include "joint_fit.h"
#include "simulated_errors.h"

namespace skewscope::align {

struct ErrorBars {
  std::vector<double> trace_ns;  // per trace: against its component's reference
  // Per group: of the difference of two members' clocks, which is what a wait between them rests on.
  std::vector<double> group_ns;
  // Per class: of the difference of two members' ends, which is what a split without clocks rests on.
  std::vector<double> end_difference_ns;
};

// `applied`: the fit whose correction is used; `free`: the freer fit that the errors were simulated for.
ErrorBars error_bars(const Beacons& beacons, const Fit& applied, const FitResult& free, const SimulatedErrors& errors,
                     const std::vector<int64_t>& resolution_ns);

}  // namespace skewscope::align
