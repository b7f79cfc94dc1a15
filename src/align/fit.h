// A correction per trace of one component: t = x + base + a + b u + sum_k c_k hat_k(u), u = (time - x0) / H in [-1, 1].
// hat_k is 1 at the k-th of kKnots inner knots, evenly spaced over the window, 0 at its neighbours and beyond: a bend.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace skewscope::align {

enum class Freedom : uint8_t { identity, offset, line, bent };

constexpr size_t kKnots = 7;               // inner knots of a bend
constexpr size_t kMostTerms = 2 + kKnots;  // a, b, c

// Number of terms of a freedom that is fitted.
constexpr size_t terms_of(Freedom freedom) {
  return freedom == Freedom::bent ? kMostTerms : (freedom == Freedom::line ? 2 : 1);
}

// 1, u, hats of u.
inline void terms_at(double u, size_t terms, double* out) {
  out[0] = 1;
  if (terms > 1) out[1] = u;
  for (size_t k = 2; k < terms; ++k) {
    const double knot = -1 + 2.0 * static_cast<double>(k - 1) / (kKnots + 1);
    out[k] = std::max(0.0, 1 - std::fabs(u - knot) * (kKnots + 1) / 2);
  }
}

// Second differences of the heights at the knots, 0 beyond either end.
inline std::array<double, kKnots> second_differences(const double* heights) {
  std::array<double, kKnots> d{};
  for (size_t k = 0; k < kKnots; ++k) {
    d[k] = (k > 0 ? heights[k - 1] : 0) - 2 * heights[k] + (k + 1 < kKnots ? heights[k + 1] : 0);
  }
  return d;
}

struct Fit {
  Freedom freedom = Freedom::identity;
  int64_t center_ns = 0;         // x0
  double half_window_ns = 1;     // H
  std::vector<int64_t> base_ns;  // per trace: its clock's distance in whole, so that x + base lies in the window
  std::vector<std::array<double, kMostTerms>> terms_ns;  // per trace: a, b, c
  std::vector<int32_t> component;                        // per trace: traces joined by the rows of the fit, by smallest
  std::vector<double> sigma_ns;                          // per class: scatter of ends around their row
  std::vector<double> sigma_freedom;                     // per class: the degrees of freedom that sigma_ns rests on
  std::vector<double> cautious_sigma_ns;  // per class: for uncertainties, which few degrees must not shrink
  // Bias of one member's ends that averaging cannot remove: per class, and per group what its classes share.
  std::vector<double> tau_ns, group_tau_ns;

  double correction_ns(size_t trace, int64_t x) const {
    std::array<double, kMostTerms> at{};
    terms_at(static_cast<double>(x + base_ns[trace] - center_ns) / half_window_ns, kMostTerms, at.data());
    double sum = static_cast<double>(base_ns[trace]);
    for (size_t k = 0; k < kMostTerms; ++k) sum += terms_ns[trace][k] * at[k];
    return sum;
  }
};

}  // namespace skewscope::align
