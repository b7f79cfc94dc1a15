// Ranks of one node usually share a clock; how far may that be believed?
//
// Empirical Bayes: the robust spread of the node's fitted offsets (or drifts) has two parts, true differences and the
// fit's own noise, which simulated errors tell. Each member moves towards the node's median by the noise's share:
//   a_r <- mu + f (a_r - mu),  f = max(0, v - s^2) / v
// A hint, never a fact: a member off by more than five deviations keeps its own clock (a GPU-only session, a time
// namespace), and where members truly differ f is 1. Cost: O(ranks). Source: James & Stein 1961; Morris 1983.
#pragma once

#include <string>
#include <vector>

#include "simulated_errors.h"

namespace skewscope::align {

// `host` and `rows` (how many tie it) per trace; host "" tells nothing. The reference of each component stays at 0.
void pool_nodes(const std::vector<std::string>& host, const std::vector<size_t>& rows, const SimulatedErrors& errors,
                Fit& fit);

}  // namespace skewscope::align
