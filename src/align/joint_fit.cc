#include "joint_fit.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "start_values.h"

namespace skewscope::align {
namespace {

constexpr double kMostDrift = 30e-6;     // what a crystal oscillator drifts
constexpr double kLeastScale = 300;      // ns
constexpr double kUnknownScale = 5'000;  // ns; ends that nobody could measure
constexpr size_t kLeastFreedom = 6;
constexpr double kLeastBias = 0.25;  // of sigma: what a member's bias is taken to be at least
constexpr double kBendRidge = 1e-3;  // of the median information, before bends are found
constexpr double kCurveFound = 2;    // curves found are shrunk ones
constexpr int kHuberRounds = 2, kFreeBendRounds = 4;
constexpr double kHuber = 1.345, kTukey = 4.685;

// Mean of the two middle values for an even count, so that a row of two is centred between its members.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// The rows in use, and what one round needs of them beside the equations.
struct Rounds {
  const Beacons& beacons;
  FitResult& result;
  std::vector<int32_t> beacon;       // per observation: the observation of the beacons
  std::vector<int32_t> scale_class;  // per row
  std::vector<int32_t> class_cell;   // per observation: (class, trace)
  std::vector<int32_t> class_of_cell;
  std::vector<double> balance;  // per row

  NormalEquations& s() { return result.equations; }
};

// Numbers (owner, trace) pairs as they come.
struct CellNumbers {
  size_t traces;
  std::unordered_map<size_t, int32_t> known;
  std::vector<int32_t>& owners;

  int32_t of(int32_t owner, int32_t trace) {
    const size_t key = static_cast<size_t>(owner) * traces + static_cast<size_t>(trace);
    const auto [at, fresh] = known.emplace(key, static_cast<int32_t>(owners.size()));
    if (fresh) owners.push_back(owner);
    return at->second;
  }
};

void take_rows(Rounds& r, const std::vector<bool>& use) {
  NormalEquations& s = r.s();
  const Beacons& b = r.beacons;
  s.traces = b.traces.size();
  for (size_t c = 0; c < b.rows(); ++c) {
    if (!use[c]) continue;
    r.result.row.push_back(static_cast<int32_t>(c));
    r.scale_class.push_back(b.scale_class[c]);
    for (size_t k = b.begin(c); k < b.end(c); ++k) {
      s.trace.push_back(b.trace[k]);
      r.beacon.push_back(static_cast<int32_t>(k));
    }
    s.row_begin.push_back(static_cast<int32_t>(s.trace.size()));
  }
  s.basis.assign(s.rows() * s.terms, 0);
  s.weight.assign(s.trace.size(), 0);
  r.result.residual_ns.assign(s.trace.size(), 0);
}

void number_cells(Rounds& r) {
  NormalEquations& s = r.s();
  CellNumbers classes{s.traces, {}, r.class_of_cell};
  for (size_t i = 0; i < s.rows(); ++i) {
    for (size_t k = s.begin(i); k < s.end(i); ++k) r.class_cell.push_back(classes.of(r.scale_class[i], s.trace[k]));
  }
}

// Lays out the unknowns: per trace its terms, then one bias per group it takes part in.
void number_unknowns(Rounds& r) {
  NormalEquations& s = r.s();
  std::vector<std::map<int32_t, int32_t>> groups(s.traces);
  const auto group_of = [&](size_t row) { return r.beacons.classes[static_cast<size_t>(r.scale_class[row])].group; };
  for (size_t i = 0; i < s.rows(); ++i) {
    for (size_t k = s.begin(i); k < s.end(i); ++k) groups[static_cast<size_t>(s.trace[k])].emplace(group_of(i), 0);
  }
  s.unknown_begin.push_back(0);
  for (auto& of_trace : groups) {
    auto next = s.unknown_begin.back() + static_cast<int32_t>(s.terms);
    r.result.group_of_bias.insert(r.result.group_of_bias.end(), s.terms, -1);
    for (auto& [group, unknown] : of_trace) {
      unknown = next++;
      r.result.group_of_bias.push_back(group);
    }
    s.unknown_begin.push_back(next);
  }
  s.ridge.assign(static_cast<size_t>(s.unknown_begin.back()), 0);
  r.result.bias_ns.assign(s.ridge.size(), 0);
  for (size_t i = 0; i < s.rows(); ++i) {
    for (size_t k = s.begin(i); k < s.end(i); ++k) {
      s.bias.push_back(groups[static_cast<size_t>(s.trace[k])].at(group_of(i)));
    }
  }
}

// Lists the observations of each trace, in order of rows.
void order_by_trace(NormalEquations& s) {
  s.trace_begin.assign(s.traces + 1, 0);
  for (const int32_t t : s.trace) ++s.trace_begin[static_cast<size_t>(t) + 1];
  for (size_t t = 0; t < s.traces; ++t) s.trace_begin[t + 1] += s.trace_begin[t];
  std::vector<int32_t> next(s.trace_begin.begin(), s.trace_begin.end() - 1);
  s.by_trace.resize(s.trace.size());
  s.place.resize(s.trace.size());
  for (size_t i = 0; i < s.rows(); ++i) {
    for (size_t k = s.begin(i); k < s.end(i); ++k) {
      s.place[k] = next[static_cast<size_t>(s.trace[k])]++;
      s.by_trace[static_cast<size_t>(s.place[k])] = {static_cast<int32_t>(i), s.bias[k]};
    }
  }
}

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

// Corrected ends without their members' biases, minus their row's median; the row's consensus time.
void refresh(Rounds& r) {
  NormalEquations& s = r.s();
  const Fit& fit = r.result.fit;
  tbb::parallel_for(size_t{0}, s.rows(), [&](size_t i) {
    const int64_t base = r.beacons.end_ns[static_cast<size_t>(r.beacon[s.begin(i)])];
    std::vector<double> t;
    for (size_t k = s.begin(i); k < s.end(i); ++k) {
      const int64_t end = r.beacons.end_ns[static_cast<size_t>(r.beacon[k])];
      r.result.residual_ns[k] = static_cast<double>(end - base) +
                                fit.correction_ns(static_cast<size_t>(s.trace[k]), end) +
                                r.result.bias_ns[static_cast<size_t>(s.bias[k])];
      t.push_back(r.result.residual_ns[k]);
    }
    const double middle = median(t);
    const double u = (static_cast<double>(base - fit.center_ns) + middle) / fit.half_window_ns;
    terms_at(u, s.terms, &s.basis[i * s.terms]);
    for (size_t k = s.begin(i); k < s.end(i); ++k) r.result.residual_ns[k] -= middle;
  });
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
  for (size_t c = 0; c < residuals.size(); ++c) {
    if (!residuals[c].empty()) sigma[c] = std::max(kLeastScale, 1.4826 * median(residuals[c]));
    if (freedom[c] >= kLeastFreedom) of_kind[kind(c)].push_back(sigma[c]);
  }
  for (size_t c = 0; c < residuals.size(); ++c) {
    if (residuals[c].empty() || freedom[c] >= kLeastFreedom) continue;
    std::vector<double>& alike = of_kind[kind(c)];
    sigma[c] = std::max(sigma[c], alike.empty() ? kUnknownScale : median(alike));
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

void update_weights(Rounds& r, bool huber) {
  NormalEquations& s = r.s();
  const std::vector<double>& sigma = r.result.fit.sigma_ns;
  for (size_t i = 0; i < s.rows(); ++i) {
    const double scale = sigma[static_cast<size_t>(r.scale_class[i])];
    for (size_t k = s.begin(i); k < s.end(i); ++k) {
      const double z = std::fabs(r.result.residual_ns[k]) / scale;
      const double rest = 1 - z * z / (kTukey * kTukey);
      const double robust = huber ? (z <= kHuber ? 1 : kHuber / z) : (rest > 0 ? rest * rest : 0);
      s.weight[k] = robust * r.balance[i] / (scale * scale);
    }
  }
  cap_cells(r);
}

// Variance of members' biases per kind of group: by the biases found and what is not known of them.
void update_taus(Rounds& r) {
  const NormalEquations& s = r.s();
  const Fit& fit = r.result.fit;
  std::vector<double>& tau = r.result.fit.group_tau_ns;
  std::vector<double> least(r.beacons.groups.size(), INFINITY);
  for (const int32_t c : r.scale_class) {
    double& of_group = least[static_cast<size_t>(r.beacons.classes[static_cast<size_t>(c)].group)];
    of_group = std::min(of_group, kLeastBias * fit.sigma_ns[static_cast<size_t>(c)]);
  }
  if (getenv("DBG") && !tau.empty())
    fprintf(stderr, "tau %g .. %g sigma %g .. %g\n", tau[0], tau.back(), fit.sigma_ns[0], fit.sigma_ns.back());
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

// Median information of term p over traces.
double typical(const NormalEquations& s, const std::vector<double>& information, size_t p) {
  std::vector<double> values;
  for (size_t t = 0; t < s.traces; ++t) {
    if (information[s.term(t, p)] > 0) values.push_back(information[s.term(t, p)]);
  }
  return values.empty() ? 1 : median(values);
}

// Mean square of the bends' second differences found so far.
double curve_square(const Fit& fit) {
  double sum = 0;
  for (const auto& terms : fit.terms_ns) {
    for (const double second : second_differences(&terms[2])) sum += second * second;
  }
  return sum / static_cast<double>(fit.terms_ns.size() * kKnots);
}

// Bends are free at first: while they are missing, scatter is large and a prior would keep them so.
void set_ridge(Rounds& r, int round) {
  NormalEquations& s = r.s();
  const std::vector<double> information = s.diagonal();
  const double most_b = kMostDrift * r.result.fit.half_window_ns;
  std::vector<double> ridge(s.terms, 0);
  ridge[0] = 1e-6 * typical(s, information, 0);
  if (s.terms > 1) ridge[1] = 1 / (most_b * most_b);
  if (s.terms > 2) {
    const double curves = round >= kFreeBendRounds ? curve_square(r.result.fit) : 0;
    s.stiffness = curves > 0 ? 1 / (kCurveFound * curves) : kBendRidge * typical(s, information, 2);
  }
  for (size_t t = 0; t < s.traces; ++t) {
    for (size_t p = 0; p < s.terms; ++p) s.ridge[s.term(t, p)] = ridge[p];
  }
  for (size_t i = 0; i < s.unknowns(); ++i) {
    if (r.result.group_of_bias[i] < 0) continue;
    const double tau = r.result.fit.group_tau_ns[static_cast<size_t>(r.result.group_of_bias[i])];
    s.ridge[i] = 1 / (tau * tau);
  }
}

void step(Rounds& r) {
  NormalEquations& s = r.s();
  Fit& fit = r.result.fit;
  std::vector<double> rhs = s.gather(r.result.residual_ns);
  for (size_t i = 0; i < rhs.size(); ++i) rhs[i] = -rhs[i] - s.ridge[i] * r.result.bias_ns[i];
  for (size_t t = 0; t < s.traces; ++t) {  // a is measured from where it started, the others from straight and equal
    if (s.terms > 1) rhs[s.term(t, 1)] -= s.ridge[s.term(t, 1)] * fit.terms_ns[t][1];
    if (s.terms <= 2) continue;
    const auto curve = second_differences(&fit.terms_ns[t][2]);
    s.add_second_differences(t, curve.data(), -s.stiffness, rhs);
  }
  const std::vector<double> z = s.solve(std::move(rhs), 1e-5);
  for (size_t i = 0; i < z.size(); ++i) r.result.bias_ns[i] += r.result.group_of_bias[i] < 0 ? 0 : z[i];
  for (size_t t = 0; t < s.traces; ++t) {
    for (size_t p = 0; p < s.terms; ++p) fit.terms_ns[t][p] += z[s.term(t, p)];
  }
}

// Every component's smallest trace becomes the reference: all terms 0. Its base is 0: the forest is walked from it.
void fix_gauge(Fit& fit) {
  const auto terms = fit.terms_ns;
  for (size_t t = 0; t < terms.size(); ++t) {
    const auto reference = static_cast<size_t>(fit.component[t]);
    for (size_t p = 0; p < kMostTerms; ++p) fit.terms_ns[t][p] = terms[t][p] - terms[reference][p];
  }
}

}  // namespace

FitResult fit_clocks(const Beacons& beacons, const std::vector<bool>& use, Freedom freedom, int rounds) {
  FitResult result;
  result.fit.freedom = freedom;
  start_values(beacons, use, result.fit);
  Rounds r{beacons, result, {}, {}, {}, {}, {}};
  result.equations.terms = terms_of(freedom);
  result.equations.component = result.fit.component;
  take_rows(r, use);
  if (result.row.empty()) return result;
  number_cells(r);
  number_unknowns(r);
  order_by_trace(r.s());
  set_balance(r);
  for (int round = 0; round < rounds; ++round) {
    refresh(r);
    update_scales(r);
    update_weights(r, round < kHuberRounds);
    update_taus(r);
    set_ridge(r, round);
    if (freedom == Freedom::identity) break;
    step(r);
  }
  if (freedom == Freedom::identity) return result;
  refresh(r);
  fix_gauge(result.fit);
  return result;
}

std::vector<double> end_residuals_ns(const Beacons& beacons, const Fit& fit, size_t row) {
  const size_t first = beacons.begin(row);
  std::vector<double> t;
  for (size_t k = first; k < beacons.end(row); ++k) {
    t.push_back(static_cast<double>(beacons.end_ns[k] - beacons.end_ns[first]) +
                fit.correction_ns(static_cast<size_t>(beacons.trace[k]), beacons.end_ns[k]));
  }
  std::vector<double> sorted = t;
  const double middle = median(sorted);
  for (double& v : t) v -= middle;
  return t;
}

}  // namespace skewscope::align
