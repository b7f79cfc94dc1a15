// What errors would the fit make on noise like that of its ends? A parametric bootstrap of the linear fit.
//
// Idea: draw noise for every end (scatter of its class, bias of its member in class and group, the drift that a clock
// may have where no row measures it) and solve the same normal equations for it: what comes out is an error of all
// clocks together, with all that their ties share. Why right: the fit is linear in its ends at the final weights, so
// the errors have its true covariance, up to the noise model; signs suffice, for only second moments are read. How well
// the noise model fits is measured too: `excess` is by how much the members' biases found exceed those found in draws,
// and by how much ends that hang together (clumping.h) know less than their number tells.
// Cost: kDraws right-hand sides, some at once, at low precision; processes share them.
#pragma once

#include "joint_fit.h"
#include "skewscope/base/exchange.h"

namespace skewscope::align {

struct SimulatedErrors {
  size_t terms = 1;
  std::vector<std::vector<double>> draws;  // each: traces x terms
  double excess = 1;                       // at least 1; on standard deviations
  double likely = 1;  // at most 1; on variances: what the biases found make of the cautious ones drawn

  // Error of a trace's clock at u in draw d.
  double at(size_t draw, size_t trace, double u) const {
    std::array<double, kMostTerms> phi{};
    terms_at(u, terms, phi.data());
    double sum = 0;
    for (size_t p = 0; p < terms; ++p) sum += draws[draw][trace * terms + p] * phi[p];
    return sum;
  }
};

// `applied`: the freedom whose correction is used. `alike`: so many ends tell what one would (clumping.h).
SimulatedErrors simulate_errors(const Beacons& beacons, const FitResult& result, Freedom applied, double alike,
                                Exchange& exchange);

}  // namespace skewscope::align
