// Idea: P(|T| >= t) is the regularized incomplete beta function I_x(v/2, 1/2) at x = v / (v + t^2), by its continued
// fraction (Lentz's method). The quantile by bisection, as p falls in t. Source: Abramowitz and Stegun, "Handbook of
// Mathematical Functions", 26.5.8 and 26.7.1; Press et al., "Numerical Recipes", 6.4.
#include "student.h"

#include <cmath>
#include <initializer_list>

namespace skewscope::scale {
namespace {

double continued_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300, kEnough = 1e-15;
  constexpr int kMostTerms = 500;
  const auto away_from_zero = [](double v) { return std::fabs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    double change = 1;
    for (const double term : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                              -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      change = c * d;
      h *= change;
    }
    if (std::fabs(change - 1) < kEnough) break;
  }
  return h;
}

double incomplete_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(1 - x));
  if (x < (a + 1) / (a + b + 2)) return front * continued_fraction(x, a, b) / a;
  return 1 - front * continued_fraction(1 - x, b, a) / b;
}

}  // namespace

double two_sided_p(double t, double freedom) { return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5); }

double t_of_p(double p, double freedom) {
  double low = 0, high = 1;
  while (two_sided_p(high, freedom) > p && high < 1e12) high *= 2;
  for (int round = 0; round < 200 && high - low > 1e-12 * high; ++round) {
    const double middle = (low + high) / 2;
    (two_sided_p(middle, freedom) > p ? low : high) = middle;
  }
  return high;
}

}  // namespace skewscope::scale
