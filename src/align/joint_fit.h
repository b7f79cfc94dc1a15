// One correction per trace from all beacons at once.
//
// Problem: traces' clocks x_r; corrected t = x + beta_r (fit.h). Members of beacon c leave at one unknown instant E_c.
// Find the beta that make the corrected ends agree. Idea: weighted least squares (normal_equations.h), weights by
// iteratively reweighted rounds: Huber for two, Tukey's redescending after. A weight is
//   psi(z)/z  x  1/sigma^2  x  balance  x  1/(1 + I tau^2)
// sigma: 1.4826 MAD of the class (operation and size in one group), for a reduce-scatter of megabytes scatters a
// hundred times more than a small all-reduce next to it; freed of what the clocks took of it (each end's leverage), and
// borrowed where few degrees of freedom remain. balance: 1 / (1 + (spread / lower quartile of the group's)^2):
// only rows in which nobody was late are free of latency waves. A member's fixed bias within its group is an unknown of
// its own with variance tau_g^2 (at least a quarter of sigma, else what the biases found show, by one step of EM per
// round): it limits what averaging can say of offsets, yet leaves drift and bends their full information, which the
// usual cap on a cell's information does not. What biases of single classes remain is capped so (I: information of the
// cell, tau from its mean residuals; DerSimonian & Laird 1986). Drift has the physical prior of 30 ppm, a bend's second
// differences one of their own found size. u is the consensus time of the row, not each member's own reading: with the
// own reading the optimum is that all of time collapses to a point. Gauge: only differences inside an aligned component
// are determined; its smallest trace is fixed at 0. Cost: O(observations x terms) per step, some 20 steps in 6 rounds.
// Deterministic for any number of threads. Source: broadcast synchronisation of Scheuermann et al. (ToN 2009) with
// robust weights (Huber 1964; Beaton & Tukey 1974).
#pragma once

#include "beacons.h"
#include "fit.h"
#include "normal_equations.h"
#include "start_values.h"

namespace skewscope::align {

struct FitResult {
  Fit fit;
  NormalEquations equations;           // of the last round, with its weights; empty for identity
  std::vector<int32_t> row;            // per row of the equations: its row in the beacons
  std::vector<double> residual_ns;     // per observation of the equations
  std::vector<double> bias_ns;         // per unknown; 0 for terms
  std::vector<int32_t> group_of_bias;  // per unknown: its group; -1 for terms
};

// `rounds`: 6 for the result, 4 to judge a model by.
FitResult fit_clocks(const Beacons& beacons, const TiedRows& rows, Freedom freedom, int rounds = 6);

// Corrected ends of row c minus their median.
std::vector<double> end_residuals_ns(const Beacons& beacons, const Fit& fit, size_t row);

}  // namespace skewscope::align
