// The linear heart of the joint fit: minimise
//   sum_c sum_k w_k (y_k + phi_c . z_t + bias_tg - E_c)^2  +  sum ridge_p z_tp^2  +  sum bias_tg^2 / tau_g^2
//     +  stiffness sum (second differences of a trace's bend)^2
// over rows c with observations k of trace t in group g: the mixed model of Henderson, with E_c a fixed effect per row,
// bias_tg a random effect per member of a group, z_t the terms of a trace's clock.
//
// E_c is eliminated exactly (weighted mean of its row), so a product with the normal matrix is two passes over the
// observations: per row the weighted centring, per trace the sums. Solved by conjugate gradients, preconditioned by
// each trace's own block (its terms and biases together, which confound), in the space where every aligned component's
// mean of every term is 0 (only differences are determined). Cost: O(observations x terms) per step, some 10 to 40
// steps; of several right-hand sides each observation is looked at once. Deterministic for any number of threads: each
// task writes its own slots, sums run in one order.
// Source: Henderson 1950; Hestenes & Stiefel 1952; the elimination is the Schur complement of bundle adjustment.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "fit.h"

namespace skewscope::align {

// Each trace's own block of the normal matrix (its rows' centring left out), as Cholesky factors: below the diagonal
// and, mirrored, above it; on the diagonal 1 over the factor's value.
struct BlockFactors {
  std::vector<size_t> begin;  // per trace: its block in `values`
  std::vector<double> values;
};

// Right-hand sides that may be solved at once. Their values for one unknown, or observation, are together.
constexpr size_t kSidesAtOnce = 4;

struct NormalEquations {
  size_t terms = 1, traces = 0;
  std::vector<int32_t> row_begin{0};  // per row + 1: its observations
  std::vector<int32_t> trace;         // per observation
  std::vector<int32_t> bias;          // per observation: the unknown that is its member's bias
  std::vector<double> weight;         // per observation
  std::vector<double> basis;          // per row: `terms` values
  std::vector<int32_t> trace_begin;   // per trace + 1: its entries in by_trace
  // Observations by trace: their rows and biases, and per observation where it is there.
  std::vector<std::array<int32_t, 2>> by_trace;
  std::vector<int32_t> place;
  std::vector<int32_t> component;  // per trace
  // Unknowns of a trace are together: unknown_begin[t] .. + terms are its clock's, then come its biases.
  std::vector<int32_t> unknown_begin;  // per trace + 1
  std::vector<double> ridge;           // per unknown
  double stiffness = 0;                // of bends

  size_t rows() const { return row_begin.size() - 1; }
  size_t begin(size_t row) const { return static_cast<size_t>(row_begin[row]); }
  size_t end(size_t row) const { return static_cast<size_t>(row_begin[row + 1]); }
  size_t unknowns() const { return ridge.size(); }
  size_t term(size_t of_trace, size_t p) const { return static_cast<size_t>(unknown_begin[of_trace]) + p; }

  // Phi^T W C v per unknown, of `kSides` (1 or kSidesAtOnce) values per observation. Asked for each observation's once,
  // by several threads.
  template <size_t kSides>
  std::vector<double> gather(const std::function<std::array<double, kSides>(size_t row, size_t observation)>& v) const;
  BlockFactors factors() const;
  // z of (Phi^T W C Phi + ridge) z = rhs, to a relative residual of `tolerance`. `rhs` is projected first.
  template <size_t kSides>
  std::vector<double> solve(std::vector<double> rhs, const BlockFactors& factors, double tolerance) const;
  // Diagonal of Phi^T W Phi.
  std::vector<double> diagonal() const;
};

// Adds scale D^T v at a bend whose knots are `stride` apart: D gives the kKnots second differences of heights, 0 at
// either end, and is symmetric.
inline void add_second_differences(const double* v, double scale, double* bend, size_t stride) {
  const std::array<double, kKnots> second = second_differences(v);
  for (size_t k = 0; k < kKnots; ++k) bend[k * stride] += scale * second[k];
}

}  // namespace skewscope::align
