// The rounds of the joint fit from the inside: which rows take part, what they weigh, which variances they show.
#pragma once

#include <vector>

#include "joint_fit.h"

namespace skewscope::align {

// The rows in use, and what one round needs of them in addition to the equations.
struct Rounds {
  const Beacons& beacons;
  FitResult& result;
  std::vector<int32_t> scale_class;  // per row
  std::vector<int32_t> class_cell;   // per observation: (class, trace)
  std::vector<int32_t> class_of_cell;
  std::vector<double> balance;      // per row
  std::vector<double> information;  // per unknown, as of the last weights

  NormalEquations& s() { return result.equations; }
  // The first observation, among those of the beacons, of a row here.
  size_t first_beacon(size_t i) const { return beacons.begin(static_cast<size_t>(result.row[i])); }
};

// Lays out rows, observations by trace, and unknowns: per trace its terms, then one bias per group it takes part in.
void lay_out(Rounds& r, const std::vector<bool>& use);

// Scatter of every class, from the residuals as they are.
void update_scales(Rounds& r);

// Weight of every observation; Huber's or Tukey's.
void update_weights(Rounds& r, bool huber);

// Variance of members' biases per kind of group: by the biases found and what is not known of them.
void update_taus(Rounds& r);

}  // namespace skewscope::align
