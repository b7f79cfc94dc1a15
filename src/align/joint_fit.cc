#include "joint_fit.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "fit_rounds.h"
#include "skewscope/base/middle.h"

namespace skewscope::align {
namespace {

constexpr double kFreeOffset = 0.1;      // of the information that a bias has
constexpr double kMostDrift = 30e-6;     // what a crystal oscillator drifts
constexpr double kBendRidge = 1e-3;      // of the median information, before bends are found
constexpr double kCurveFound = 2;        // curves found are shrunk ones
constexpr double kStepTolerance = 1e-3;  // each round solves for what the last one left
constexpr int kHuberRounds = 2, kFreeBendRounds = 4;

// Corrected ends without their members' biases, minus their row's median; the row's consensus time.
void refresh(Rounds& r) {
  NormalEquations& s = r.s();
  const Fit& fit = r.result.fit;
  tbb::parallel_for(size_t{0}, s.rows(), [&](size_t i) {
    const int64_t* const ends = &r.beacons.end_ns[r.first_beacon(i)];
    const int64_t base = ends[0];
    std::vector<double> t;
    for (size_t k = s.begin(i); k < s.end(i); ++k) {
      const int64_t end = ends[k - s.begin(i)];
      r.result.residual_ns[k] = static_cast<double>(end - base) +
                                fit.correction_ns(static_cast<size_t>(s.trace[k]), end) +
                                r.result.bias_ns[static_cast<size_t>(s.bias[k])];
      t.push_back(r.result.residual_ns[k]);
    }
    const double middle = take_median(t);
    const double u = (static_cast<double>(base - fit.center_ns) + middle) / fit.half_window_ns;
    terms_at(u, s.terms, &s.basis[i * s.terms]);
    for (size_t k = s.begin(i); k < s.end(i); ++k) r.result.residual_ns[k] -= middle;
  });
}

// Median information of term p over traces.
double typical(const NormalEquations& s, const std::vector<double>& information, size_t p) {
  std::vector<double> values;
  for (size_t t = 0; t < s.traces; ++t) {
    if (information[s.term(t, p)] > 0) values.push_back(information[s.term(t, p)]);
  }
  return values.empty() ? 1 : take_median(values);
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
  const double most_b = kMostDrift * r.result.fit.half_window_ns;
  std::vector<double> ridge(s.terms, 0);
  double hop = 1;
  for (const Beacons::Group& group : r.beacons.groups) hop = std::max(hop, group.hop_ns);
  // Free, apart from what links may be wrong by: where it is not, their biases take what is the clocks'.
  ridge[0] = std::min(1e-6 * typical(s, r.information, 0), kFreeOffset / (hop * hop));
  if (s.terms > 1) ridge[1] = 1 / (most_b * most_b);
  if (s.terms > 2) {
    const double curves = round >= kFreeBendRounds ? curve_square(r.result.fit) : 0;
    s.stiffness = curves > 0 ? 1 / (kCurveFound * curves) : kBendRidge * typical(s, r.information, 2);
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
  std::vector<double> rhs = s.gather<1>([&](size_t, size_t k) { return std::array{r.result.residual_ns[k]}; });
  for (size_t i = 0; i < rhs.size(); ++i) rhs[i] = -rhs[i] - s.ridge[i] * r.result.bias_ns[i];
  for (size_t t = 0; t < s.traces; ++t) {  // a is measured from where it started, the others from straight and equal
    if (s.terms > 1) rhs[s.term(t, 1)] -= s.ridge[s.term(t, 1)] * fit.terms_ns[t][1];
    if (s.terms <= 2) continue;
    const auto curve = second_differences(&fit.terms_ns[t][2]);
    add_second_differences(curve.data(), -s.stiffness, &rhs[s.term(t, 2)], 1);
  }
  const std::vector<double> z = s.solve<1>(std::move(rhs), s.factors(), kStepTolerance);
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

FitResult fit_clocks(const Beacons& beacons, const TiedRows& rows, Freedom freedom, int rounds) {
  FitResult result;
  result.fit.freedom = freedom;
  start_values(beacons, rows, result.fit);
  Rounds r{beacons, result, {}, {}, {}, {}, {}};
  result.equations.terms = terms_of(freedom);
  result.equations.component = result.fit.component;
  lay_out(r, rows.use);
  if (result.row.empty()) return result;
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
  const double middle = take_median(sorted);
  for (double& v : t) v -= middle;
  return t;
}

}  // namespace skewscope::align
