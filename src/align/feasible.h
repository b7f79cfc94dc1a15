// What do causes and effects prove about the clocks, without any assumption on noise?
//
// In an N-to-N collective nobody leaves before the last one arrived: for members i, j  start_i <= X_c <= end_j  with
// one latent instant X_c per instance. On corrected stamps these are difference constraints on what is still wrong with
// each clock; their tightest consequences are shortest paths over (traces, instances) from the reference, by
// Bellman-Ford sweeps. The interval's width is twice the cheapest communication that bridges two traces: a proof and an
// alarm, not an estimate. A negative cycle says that no clocks whatever explain the stamps: semantics or matching is
// broken somewhere on it. Rows whose ends lie far apart after the fit (suspected mismatches) take no part.
// Cost: O(observations) per sweep, 2 to 10 sweeps. Source: Bellman 1958; bounds after Duda 1987.
#pragma once

#include "beacons.h"
#include "fit.h"

namespace skewscope::align {

struct Feasible {
  // Per trace: the correction may be changed by [low, high] nanoseconds against its component's reference.
  std::vector<double> low_ns, high_ns;
  bool contradiction = false;  // a negative cycle
  size_t suspects = 0;         // rows left out as suspected mismatches
  size_t violations = 0;       // rows in which somebody left before the last arrived, by more than 1 us
  size_t rows = 0;             // rows looked at
};

Feasible feasible_intervals(const Beacons& beacons, const Fit& fit);

}  // namespace skewscope::align
