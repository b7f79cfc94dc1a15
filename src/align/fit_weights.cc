// What rows weigh, and the variances they show; the rules are in joint_fit.h.
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "fit_rounds.h"

namespace skewscope::align {
namespace {

constexpr double kLeastScale = 300;      // ns
constexpr double kUnknownScale = 5'000;  // ns; ends that nobody could measure
constexpr size_t kLeastFreedom = 6;
constexpr double kLeastBias = 0.25;  // of sigma: what a member's bias is taken to be at least
constexpr double kHuber = 1.345, kTukey = 4.685;

double lower_quartile(std::vector<double>& values) {
  const auto at = values.begin() + static_cast<int64_t>(values.size() / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void set_balance(Rounds& r) {
  std::vector<std::vector<double>> spreads(r.beacons.groups.size());
  for (const int32_t c : r.result.row) {
    const auto row = static_cast<size_t>(c);
    spreads[static_cast<size_t>(r.beacons.group_of(row))].push_back(r.beacons.spread_ns[row]);
  }
  std::vector<double> typical_spread;
  for (std::vector<double>& of_group : spreads)
    typical_spread.push_back(of_group.empty() ? 0 : std::max(1e3, lower_quartile(of_group)));
  for (const int32_t c : r.result.row) {
    const auto row = static_cast<size_t>(c);
    const double imbalance = r.beacons.spread_ns[row] / typical_spread[static_cast<size_t>(r.beacons.group_of(row))];
    r.balance.push_back(1 / (1 + imbalance * imbalance));
  }
}

// Caps each (class, member)'s information at 1 / tau^2, tau per class from its members' mean residuals.
void cap_cells(Rounds& r) {
  NormalEquations& s = r.s();
  const std::vector<int32_t>& owner_of = r.class_of_cell;
  std::vector<double> information(owner_of.size(), 0), sum(owner_of.size(), 0);
  for (size_t k = 0; k < r.class_cell.size(); ++k) {
    information[static_cast<size_t>(r.class_cell[k])] += s.weight[k];
    sum[static_cast<size_t>(r.class_cell[k])] += s.weight[k] * r.result.residual_ns[k];
  }
  std::vector<double> excess(r.beacons.classes.size(), 0), count(excess.size(), 0);
  for (size_t i = 0; i < owner_of.size(); ++i) {
    if (information[i] <= 0) continue;
    const double mean = sum[i] / information[i];
    excess[static_cast<size_t>(owner_of[i])] += mean * mean - 1 / information[i];
    ++count[static_cast<size_t>(owner_of[i])];
  }
  std::vector<double>& tau = r.result.fit.tau_ns;
  tau.assign(excess.size(), 0);
  for (size_t c = 0; c < tau.size(); ++c) tau[c] = count[c] > 1 ? std::sqrt(std::max(0.0, excess[c] / count[c])) : 0;
  for (size_t k = 0; k < r.class_cell.size(); ++k) {
    const auto i = static_cast<size_t>(r.class_cell[k]);
    const double of_class = tau[static_cast<size_t>(owner_of[i])];
    s.weight[k] /= 1 + information[i] * of_class * of_class;
  }
}

}  // namespace

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// 1.4826 MAD per class; a row of n has lost one degree of freedom to its median. A class that few ends speak for
// borrows the scatter of its kind: two ends always agree with themselves.
void update_scales(Rounds& r) {
  const NormalEquations& s = r.s();
  std::vector<std::vector<double>> residuals(r.beacons.classes.size());
  std::vector<size_t> freedom(residuals.size(), 0);
  for (size_t i = 0; i < s.rows(); ++i) {
    const size_t n = s.end(i) - s.begin(i);
    const double unbiased = std::sqrt(static_cast<double>(n) / static_cast<double>(n - 1));
    const auto of_class = static_cast<size_t>(r.scale_class[i]);
    freedom[of_class] += n - 1;
    for (size_t k = s.begin(i); k < s.end(i); ++k) {
      residuals[of_class].push_back(std::fabs(r.result.residual_ns[k]) * unbiased);
    }
  }
  std::vector<double>& sigma = r.result.fit.sigma_ns;
  std::vector<std::vector<double>> of_kind(static_cast<size_t>(r.beacons.kinds));
  const auto kind = [&](size_t c) {
    return static_cast<size_t>(r.beacons.groups[static_cast<size_t>(r.beacons.classes[c].group)].kind);
  };
  sigma.assign(residuals.size(), kLeastScale);
  tbb::parallel_for(size_t{0}, residuals.size(), [&](size_t c) {
    if (!residuals[c].empty()) sigma[c] = std::max(kLeastScale, 1.4826 * median_of(residuals[c]));
  });
  for (size_t c = 0; c < residuals.size(); ++c) {
    if (freedom[c] >= kLeastFreedom) of_kind[kind(c)].push_back(sigma[c]);
  }
  for (size_t c = 0; c < residuals.size(); ++c) {
    if (residuals[c].empty() || freedom[c] >= kLeastFreedom) continue;
    std::vector<double>& alike = of_kind[kind(c)];
    sigma[c] = std::max(sigma[c], alike.empty() ? kUnknownScale : median_of(alike));
  }
}

void update_weights(Rounds& r, bool huber) {
  if (r.balance.empty()) set_balance(r);
  NormalEquations& s = r.s();
  const std::vector<double>& sigma = r.result.fit.sigma_ns;
  tbb::parallel_for(size_t{0}, s.rows(), [&](size_t i) {
    const double scale = sigma[static_cast<size_t>(r.scale_class[i])];
    for (size_t k = s.begin(i); k < s.end(i); ++k) {
      const double z = std::fabs(r.result.residual_ns[k]) / scale;
      const double rest = 1 - z * z / (kTukey * kTukey);
      const double robust = huber ? (z <= kHuber ? 1 : kHuber / z) : (rest > 0 ? rest * rest : 0);
      s.weight[k] = robust * r.balance[i] / (scale * scale);
    }
  });
  cap_cells(r);
}

void update_taus(Rounds& r) {
  const NormalEquations& s = r.s();
  const Fit& fit = r.result.fit;
  std::vector<double>& tau = r.result.fit.group_tau_ns;
  std::vector<double> least(r.beacons.groups.size(), INFINITY);
  for (const int32_t c : r.scale_class) {
    double& of_group = least[static_cast<size_t>(r.beacons.classes[static_cast<size_t>(c)].group)];
    of_group = std::min(of_group, kLeastBias * fit.sigma_ns[static_cast<size_t>(c)]);
  }
  if (tau.empty()) {
    tau = least;
    return;
  }
  const std::vector<double> information = s.diagonal();
  std::vector<double> sum(static_cast<size_t>(r.beacons.kinds), 0), count(sum.size(), 0);
  for (size_t i = 0; i < s.unknowns(); ++i) {
    if (r.result.group_of_bias[i] < 0) continue;
    const auto kind = static_cast<size_t>(r.beacons.groups[static_cast<size_t>(r.result.group_of_bias[i])].kind);
    sum[kind] += r.result.bias_ns[i] * r.result.bias_ns[i] + 1 / (information[i] + s.ridge[i]);
    ++count[kind];
  }
  for (size_t g = 0; g < tau.size(); ++g) {
    const auto kind = static_cast<size_t>(r.beacons.groups[g].kind);
    if (count[kind] > 0) tau[g] = std::max(least[g], std::sqrt(sum[kind] / count[kind]));
  }
}

}  // namespace skewscope::align
