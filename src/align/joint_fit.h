// One offset and drift per trace from all beacons at once.
//
// Problem: traces' clocks x_r; corrected t = x + base_r + a_r + b_r u, u = (time - x0)/H in [-1, 1]. Members of beacon
// c leave at one unknown instant E_c. Find a, b that make the corrected ends agree. Idea: minimise  sum_c sum_r w_cr
// (e_cr + a_r + b_r u_c - E_c)^2 + sum_r (b_r / (sigma_d H))^2,  sigma_d = 30 ppm. E_c is eliminated exactly (weighted
// mean of its row), the normal equations are solved by conjugate gradients with a diagonal preconditioner, weights come
// from iteratively reweighted least squares: Huber for two rounds, Tukey after; scale per class by 1.4826 MAD; rows
// with unbalanced arrivals count less (1 / (1 + (spread / median spread)^2)). u_c is the consensus time of the row, not
// each member's own reading: with the own reading the optimum is that all of time collapses to a point. Start:
// resistant lines along a maximum spanning forest, so half of the ends may be wild. Gauge: only differences inside a
// component are determined; its smallest trace is fixed at a = b = 0. Cost: O(observations) per step; some 20 steps in
// 6 rounds. Deterministic for any thread count. Source: broadcast synchronisation of Scheuermann et al. (ToN 2009) with
// robust weights (Huber 1964; Beaton & Tukey 1974).
#pragma once

#include <cstdint>
#include <vector>

#include "beacons.h"

namespace skewscope::align {

enum class Freedom : uint8_t { identity, offset, line };

struct Fit {
  Freedom freedom = Freedom::identity;
  int64_t center_ns = 0;           // x0
  double half_window_ns = 1;       // H
  std::vector<int64_t> base_ns;    // per trace: its clock's distance in whole, so that x + base lies in the window
  std::vector<double> a_ns, b_ns;  // per trace; what is left at the centre, and at the window's edge minus that
  std::vector<double> sigma_ns;    // per class: scatter of ends around their row

  double correction_ns(size_t trace, int64_t x) const {
    const double u = static_cast<double>(x + base_ns[trace] - center_ns) / half_window_ns;
    return static_cast<double>(base_ns[trace]) + a_ns[trace] + b_ns[trace] * u;
  }
};

// `use[c]`: rows that take part.
Fit fit_clocks(const Beacons& beacons, const std::vector<bool>& use, Freedom freedom);

// Corrected ends of row c minus their median.
std::vector<double> end_residuals_ns(const Beacons& beacons, const Fit& fit, size_t row);

}  // namespace skewscope::align
