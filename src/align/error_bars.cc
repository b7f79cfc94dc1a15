#include "error_bars.h"

#include <algorithm>
#include <cmath>

namespace skewscope::align {
namespace {

// 1.2: Tukey's biweight against the mean; twice that, because most clocks are tied to the reference through others.
constexpr double kVariance = 2.4;

// A trace's ends in the rows used: their information, and their mean residual in each half of the rows.
struct Evidence {
  double information = 0;  // sum of 1 / sigma^2
  double sum[2] = {0, 0};  // residuals in balanced, unbalanced rows
  size_t count[2] = {0, 0};
};

double median_spread(const Beacons& beacons, const std::vector<bool>& use) {
  std::vector<double> spreads;
  for (size_t c = 0; c < use.size(); ++c) {
    if (use[c]) spreads.push_back(beacons.spread_ns[c]);
  }
  if (spreads.empty()) return 0;
  const auto middle = spreads.begin() + static_cast<int64_t>(spreads.size() / 2);
  std::nth_element(spreads.begin(), middle, spreads.end());
  return *middle;
}

}  // namespace

std::vector<double> error_bars_ns(const Beacons& beacons, const std::vector<bool>& use, const Fit& applied,
                                  const Fit& free, const std::vector<int64_t>& resolution_ns) {
  const size_t traces = beacons.component.size();
  std::vector<Evidence> evidence(traces);
  const double middle = median_spread(beacons, use);
  for (size_t c = 0; c < use.size(); ++c) {
    if (!use[c]) continue;
    const double sigma = free.sigma_ns[static_cast<size_t>(beacons.scale_class[c])];
    const std::vector<double> residuals = end_residuals_ns(beacons, free, c);
    const size_t half = beacons.spread_ns[c] > middle ? 1 : 0;
    for (size_t i = 0; i < residuals.size(); ++i) {
      Evidence& e = evidence[static_cast<size_t>(beacons.trace[static_cast<size_t>(beacons.row_begin[c]) + i])];
      e.information += 1 / (sigma * sigma);
      e.sum[half] += std::clamp(residuals[i], -5 * sigma, 5 * sigma);
      ++e.count[half];
    }
  }
  std::vector<double> bars(traces, -1);
  for (size_t t = 0; t < traces; ++t) {
    const Evidence& e = evidence[t];
    if (e.information <= 0) continue;
    const Evidence& reference = evidence[static_cast<size_t>(beacons.component[t])];
    // A line is known four times worse (in variance) at the window's edge than at its centre.
    const double edge = applied.freedom == Freedom::line ? 4 : 1;
    const double variance =
        edge * (kVariance / e.information + (reference.information > 0 ? kVariance / reference.information : 0));
    double skew = 0;
    if (e.count[0] >= 4 && e.count[1] >= 4) {
      skew = (e.sum[1] / static_cast<double>(e.count[1]) - e.sum[0] / static_cast<double>(e.count[0])) / 2;
    }
    // The larger of the two ends of the window and its centre.
    double model = 0;
    for (const double u : {-1.0, 0.0, 1.0}) {
      const int64_t x = free.center_ns - free.base_ns[t] + std::llround(u * free.half_window_ns);
      model = std::max(model, std::fabs(applied.correction_ns(t, x) - free.correction_ns(t, x)));
    }
    bars[t] = 2 * std::sqrt(variance + skew * skew / 4) + model + static_cast<double>(resolution_ns[t]) / 2;
  }
  return bars;
}

}  // namespace skewscope::align
