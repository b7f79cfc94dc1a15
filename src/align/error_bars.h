// How wrong may a trace's clock be against its component's reference? Half width of a 95 % interval, from
//   statistical:  2.4 sigma^2 / n_eff of its own ends, the reference's added; four times that at a line's far end
//   skew:         half the shift of its ends between balanced and unbalanced rows: latency waves behind a late member
//   model:        what a freedom that was not applied (identity, offset) would have changed
//   resolution:   half a step of the time stamps
// Source: the project's clock design, section 4d, widened.
#pragma once

#include <vector>

#include "joint_fit.h"

namespace skewscope::align {

// Per trace; -1 for traces without a row in `use`. `applied`: the fit whose correction is used; `free`: the
// fit of a line, which differs from it where less freedom was chosen.
std::vector<double> error_bars_ns(const Beacons& beacons, const std::vector<bool>& use, const Fit& applied,
                                  const Fit& free, const std::vector<int64_t>& resolution_ns);

}  // namespace skewscope::align
