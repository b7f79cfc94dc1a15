// What rows weigh, and the variances they show; the rules are in joint_fit.h.
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "fit_rounds.h"

#include "skewscope/base/middle.h"

namespace skewscope::align {
namespace {

constexpr double kLeastScale = 300;                     // ns
constexpr double kUnknownScale = 5'000;                 // ns; ends that nobody could measure
constexpr double kLeastFreedom = 6, kSureFreedom = 15;  // for weights, for uncertainties
constexpr double kLeastBias = 0.25;                     // of sigma: what a member's bias is taken to be at least
constexpr double kHuber = 1.345, kTukey = 4.685;

// What a scatter found with that many degrees of freedom is multiplied by for an interval of 95 %: Student's t over the
// normal quantile is 1 + 1.2 / freedom (Fisher 1926), and the MAD is worth 0.37 of its ends.
double for_few_ends(double freedom) { return 1 + 3.3 / std::max(freedom, kLeastFreedom); }

// How much of end k's scatter, in row i, its own clock takes up: the end's information over all that the clock has.
double leverage(const NormalEquations& s, const std::vector<double>& information, size_t i, size_t k) {
  double share = 0;
  for (size_t p = 0; p < s.terms; ++p) {
    const double phi = s.basis[i * s.terms + p];
    const size_t unknown = s.term(static_cast<size_t>(s.trace[k]), p);
    const double all = information[unknown] + s.ridge[unknown];
    if (all > 0) share += s.weight[k] * phi * phi / all;
  }
  return std::min(share, 1.0);
}

void set_balance(Rounds& r) {
  std::vector<std::vector<double>> spreads(r.beacons.groups.size());
  for (const int32_t c : r.result.row) {
    const auto row = static_cast<size_t>(c);
    spreads[static_cast<size_t>(r.beacons.group_of(row))].push_back(r.beacons.spread_ns[row]);
  }
  std::vector<double> typical_spread;
  for (std::vector<double>& of_group : spreads)
    typical_spread.push_back(of_group.empty() ? 0 : std::max(1e3, take_nth(of_group, of_group.size() / 4)));
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

// Degrees of freedom of the classes of each group together. Groups are not summed: ranks of one node are late together.
std::vector<double> group_freedom(const Rounds& r) {
  std::vector<double> freedom(r.beacons.groups.size(), 0);
  for (size_t c = 0; c < r.beacons.classes.size(); ++c) {
    freedom[static_cast<size_t>(r.beacons.classes[c].group)] += r.result.fit.sigma_freedom[c];
  }
  return freedom;
}

// Scatter per class. Where it rests on less than `least` degrees it is at least that of its kind, as the groups show it
// that have so many, and without one what ends are believed to scatter that nobody could measure.
std::vector<double> with_borrowed(const Rounds& r, double least) {
  const Fit& fit = r.result.fit;
  const std::vector<double> freedom = group_freedom(r);
  std::vector<std::vector<double>> of_kind(static_cast<size_t>(r.beacons.kinds));
  const auto kind = [&](size_t c) -> std::vector<double>& {
    const auto group = static_cast<size_t>(r.beacons.classes[c].group);
    return of_kind[static_cast<size_t>(r.beacons.groups[group].kind)];
  };
  for (size_t c = 0; c < fit.sigma_ns.size(); ++c) {
    const bool told = fit.sigma_freedom[c] >= 1 && freedom[static_cast<size_t>(r.beacons.classes[c].group)] >= least;
    if (told) kind(c).push_back(fit.sigma_ns[c]);
  }
  std::vector<double> sigma = fit.sigma_ns;
  for (size_t c = 0; c < sigma.size(); ++c) {
    if (fit.sigma_freedom[c] >= least) continue;
    sigma[c] = std::max(sigma[c], kind(c).empty() ? kUnknownScale : take_median(kind(c)));
  }
  return sigma;
}

}  // namespace

// 1.4826 MAD per class; a row of n has lost one degree of freedom to its median, and each of its ends what its own
// clock was fitted to it. A class that few degrees speak for borrows the scatter of its kind: two ends always agree
// with themselves, and so do those of one row with clocks that nothing else aligns.
void update_scales(Rounds& r) {
  const NormalEquations& s = r.s();
  std::vector<std::vector<double>> residuals(r.beacons.classes.size());
  std::vector<double> ends(residuals.size(), 0);
  std::vector<double>& freedom = r.result.fit.sigma_freedom;
  freedom.assign(residuals.size(), 0);
  std::vector<double> left(s.rows(), 0);  // per row: its ends' freedom
  tbb::parallel_for(size_t{0}, s.rows(), [&](size_t i) {
    const auto n = static_cast<double>(s.end(i) - s.begin(i));
    for (size_t k = s.begin(i); k < s.end(i); ++k) left[i] += (n - 1) / n * (1 - leverage(s, r.information, i, k));
  });
  std::vector<size_t> count(residuals.size(), 0);
  for (size_t i = 0; i < s.rows(); ++i) count[static_cast<size_t>(r.scale_class[i])] += s.end(i) - s.begin(i);
  for (size_t c = 0; c < count.size(); ++c) residuals[c].reserve(count[c]);
  for (size_t i = 0; i < s.rows(); ++i) {
    const auto n = static_cast<double>(s.end(i) - s.begin(i));
    const auto of_class = static_cast<size_t>(r.scale_class[i]);
    const double grown = std::sqrt(n / (n - 1));
    for (size_t k = s.begin(i); k < s.end(i); ++k) {
      residuals[of_class].push_back(std::fabs(r.result.residual_ns[k]) * grown);
    }
    ends[of_class] += n - 1;
    freedom[of_class] += left[i];
  }
  std::vector<double>& sigma = r.result.fit.sigma_ns;
  sigma.assign(residuals.size(), kLeastScale);
  tbb::parallel_for(size_t{0}, residuals.size(), [&](size_t c) {
    if (freedom[c] <= 0) return;
    sigma[c] = std::max(kLeastScale, 1.4826 * take_median(residuals[c]) * std::sqrt(ends[c] / freedom[c]));
  });
  std::vector<double>& cautious = r.result.fit.cautious_sigma_ns;
  cautious = with_borrowed(r, kSureFreedom);
  const std::vector<double> together = group_freedom(r);
  for (size_t c = 0; c < cautious.size(); ++c) {
    cautious[c] *= for_few_ends(together[static_cast<size_t>(r.beacons.classes[c].group)]);
  }
  sigma = with_borrowed(r, kLeastFreedom);
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
  r.information = s.diagonal();
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
  std::vector<double> sum(static_cast<size_t>(r.beacons.kinds), 0), count(sum.size(), 0);
  for (size_t i = 0; i < s.unknowns(); ++i) {
    if (r.result.group_of_bias[i] < 0) continue;
    const auto kind = static_cast<size_t>(r.beacons.groups[static_cast<size_t>(r.result.group_of_bias[i])].kind);
    sum[kind] += r.result.bias_ns[i] * r.result.bias_ns[i] + 1 / (r.information[i] + s.ridge[i]);
    ++count[kind];
  }
  for (size_t g = 0; g < tau.size(); ++g) {
    const auto kind = static_cast<size_t>(r.beacons.groups[g].kind);
    if (count[kind] > 0) tau[g] = std::max(least[g], std::sqrt(sum[kind] / count[kind]));
  }
}

}  // namespace skewscope::align
