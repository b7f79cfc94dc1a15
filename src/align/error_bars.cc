#include "error_bars.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "skewscope/base/middle.h"

namespace skewscope::align {
namespace {

constexpr double kCover = 2.2;         // 95 % for 32 draws
constexpr double kEnoughFreedom = 30;  // of a class, for its ends to speak for themselves
constexpr std::array<double, 5> kInstants = {-1, -0.5, 0, 0.5, 1};
constexpr double kInner = 1 - 2.0 / (kKnots + 1);  // the outermost knots of a bend

// Per class: whether its ends weigh in what clocks are fitted to, next to those of its group that scatter least.
std::vector<bool> weighty_classes(const Beacons& beacons, const Fit& fit) {
  constexpr double kTooWide = 4;
  std::vector<double> least(beacons.groups.size(), INFINITY);
  const auto group = [&](size_t i) { return static_cast<size_t>(beacons.classes[i].group); };
  for (size_t i = 0; i < beacons.classes.size(); ++i) {
    if (fit.sigma_ns[i] > 0) least[group(i)] = std::min(least[group(i)], fit.sigma_ns[i]);
  }
  std::vector<bool> weighty;
  for (size_t i = 0; i < beacons.classes.size(); ++i) weighty.push_back(fit.sigma_ns[i] <= kTooWide * least[group(i)]);
  return weighty;
}

// The rows of `free` whose ends weigh, in two halves: those that spread by more than the middle row of their group,
// whose members are unbalanced then, and the others.
struct Halves {
  std::vector<std::vector<double>> low_ns, high_ns;  // per bias: residuals
  std::vector<double> sigma_ns;                      // per group: the largest scatter of its classes
};

Halves halves_of(const Beacons& beacons, const FitResult& free) {
  const NormalEquations& s = free.equations;
  const std::vector<bool> weighty = weighty_classes(beacons, free.fit);
  std::vector<size_t> rows;  // of the fit
  std::vector<std::vector<double>> spreads_ns(beacons.groups.size());
  for (size_t i = 0; i < s.rows(); ++i) {
    const auto row = static_cast<size_t>(free.row[i]);
    if (!weighty[static_cast<size_t>(beacons.scale_class[row])]) continue;
    rows.push_back(i);
    spreads_ns[static_cast<size_t>(beacons.group_of(row))].push_back(beacons.spread_ns[row]);
  }
  std::vector<double> limit_ns;
  for (std::vector<double>& of_group : spreads_ns) limit_ns.push_back(of_group.empty() ? 0 : take_middle(of_group));
  const size_t biases = free.group_of_bias.size();
  Halves halves{std::vector<std::vector<double>>(biases), std::vector<std::vector<double>>(biases),
                std::vector<double>(beacons.groups.size(), 0)};
  for (const size_t i : rows) {
    const auto row = static_cast<size_t>(free.row[i]), group = static_cast<size_t>(beacons.group_of(row));
    const double sigma_ns = free.fit.sigma_ns[static_cast<size_t>(beacons.scale_class[row])];
    halves.sigma_ns[group] = std::max(halves.sigma_ns[group], sigma_ns);
    auto& half = beacons.spread_ns[row] > limit_ns[group] ? halves.high_ns : halves.low_ns;
    for (size_t k = s.begin(i); k < s.end(i); ++k) {
      half[static_cast<size_t>(s.bias[k])].push_back(free.residual_ns[k]);
    }
  }
  return halves;
}

// Per group: rms over members of half the shift of their ends between balanced and unbalanced rows, noise taken off.
std::vector<double> rms_shift_ns(const Beacons& beacons, const FitResult& free) {
  constexpr size_t kLeastEnds = 4;
  constexpr double kMedianVariance = 1.6;  // of a median, as a multiple of the mean's: pi / 2, rounded up
  Halves halves = halves_of(beacons, free);
  std::vector<double> squares(beacons.groups.size(), 0), members(beacons.groups.size(), 0);
  for (size_t i = 0; i < free.group_of_bias.size(); ++i) {
    std::vector<double>&low = halves.low_ns[i], &high = halves.high_ns[i];
    if (low.size() < kLeastEnds || high.size() < kLeastEnds) continue;
    const auto group = static_cast<size_t>(free.group_of_bias[i]);
    const double shift = (take_middle(high) - take_middle(low)) / 2;
    const double noise = kMedianVariance * halves.sigma_ns[group] * halves.sigma_ns[group] / 4 *
                         (1 / static_cast<double>(low.size()) + 1 / static_cast<double>(high.size()));
    squares[group] += shift * shift - noise;
    ++members[group];
  }
  std::vector<double> rms_ns;
  for (size_t g = 0; g < squares.size(); ++g) {
    rms_ns.push_back(members[g] > 0 ? std::sqrt(std::max(0.0, squares[g] / members[g])) : 0);
  }
  return rms_ns;
}

// What `free` would have changed on top of `applied`, against the component's reference, at u.
double model_gap_ns(const Fit& applied, const Fit& free, size_t trace, double u) {
  const auto reference = static_cast<size_t>(free.component[trace]);
  const auto gap = [&](size_t t) {
    const int64_t x = free.center_ns - free.base_ns[t] + std::llround(u * free.half_window_ns);
    return applied.correction_ns(t, x) - free.correction_ns(t, x);
  };
  return gap(trace) - gap(reference);
}

// What lines between knots leave of the bend of a trace against others at u: an eighth of its second differences
// inside, all of one beyond the outer knots, where no bend is seen.
double unseen_bend_ns(const Fit& free, size_t trace, const std::array<double, kMostTerms>& others, double u) {
  if (free.freedom != Freedom::bent) return 0;
  std::array<double, kKnots> heights{};
  for (size_t k = 0; k < kKnots; ++k) heights[k] = free.terms_ns[trace][2 + k] - others[2 + k];
  double curve = 0;
  for (const double second : second_differences(heights.data())) curve += second * second;
  const double rms = std::sqrt(curve / static_cast<double>(kKnots));
  const double beyond = std::max(0.0, (std::fabs(u) - kInner) / (1 - kInner));
  return rms * (1.0 / 8 + beyond * kCover);
}

double trace_bar_ns(const Fit& applied, const Fit& free, const SimulatedErrors& errors, size_t trace, double skew) {
  const auto reference = static_cast<size_t>(free.component[trace]);
  double worst = 0;
  for (const double u : kInstants) {
    double squares = 0;
    for (size_t d = 0; d < errors.draws.size(); ++d) {
      const double error = errors.at(d, trace, u) - errors.at(d, reference, u);
      squares += error * error / static_cast<double>(errors.draws.size());
    }
    const double bar = kCover * std::sqrt(squares * errors.excess * errors.excess + skew * skew);
    const double model =
        std::fabs(model_gap_ns(applied, free, trace, u)) + unseen_bend_ns(free, trace, free.terms_ns[reference], u);
    worst = std::max(worst, bar + model);
  }
  return worst;
}

// A group's members in the fit, and the part of the window in which it aligns them.
struct GroupInFit {
  std::vector<size_t> members;
  double from = 1, to = -1;
};

std::vector<GroupInFit> groups_of(const Beacons& beacons, const FitResult& free) {
  std::vector<GroupInFit> groups(beacons.groups.size());
  for (const int32_t c : free.row) {
    const auto row = static_cast<size_t>(c);
    GroupInFit& group = groups[static_cast<size_t>(beacons.group_of(row))];
    const size_t k = beacons.begin(row);
    const int64_t base = free.fit.base_ns[static_cast<size_t>(beacons.trace[k])];
    const double u = static_cast<double>(beacons.end_ns[k] + base - free.fit.center_ns) / free.fit.half_window_ns;
    group.from = std::min(group.from, u);
    group.to = std::max(group.to, u);
  }
  for (size_t t = 0; t < free.equations.traces; ++t) {
    for (size_t i = free.equations.term(t, 0); i < free.equations.term(t + 1, 0); ++i) {
      if (free.group_of_bias[i] >= 0) groups[static_cast<size_t>(free.group_of_bias[i])].members.push_back(t);
    }
  }
  return groups;
}

// Twice the variance of one member around the group's mean is that of a difference of two.
double group_bar_ns(const Fit& applied, const Fit& free, const SimulatedErrors& errors, const GroupInFit& group,
                    double skew) {
  const std::vector<size_t>& members = group.members;
  if (members.empty()) return -1;
  std::array<double, kMostTerms> mean{};
  for (const size_t t : members) {
    for (size_t p = 0; p < kMostTerms; ++p) mean[p] += free.terms_ns[t][p] / static_cast<double>(members.size());
  }
  double worst = 0;
  for (const double instant : kInstants) {
    const double u = group.from + (group.to - group.from) * (instant + 1) / 2;
    double squares = 0, gap = 0, unseen = 0;
    for (size_t d = 0; d < errors.draws.size(); ++d) {
      double sum = 0, sum_squares = 0;
      for (const size_t t : members) {
        const double e = errors.at(d, t, u);
        sum += e;
        sum_squares += e * e;
      }
      squares += (sum_squares - sum * sum / static_cast<double>(members.size())) /
                 static_cast<double>(std::max<size_t>(1, members.size() - 1) * errors.draws.size());
    }
    for (const size_t t : members) {
      unseen = std::max(unseen, unseen_bend_ns(free, t, mean, std::clamp(u, -kInner, kInner)));
      gap = std::max(gap, std::fabs(model_gap_ns(applied, free, t, u) - model_gap_ns(applied, free, members[0], u)));
    }
    worst =
        std::max(worst, kCover * std::sqrt(2 * (squares * errors.excess * errors.excess + skew * skew)) + gap + unseen);
  }
  return worst;
}

// Half of a 95 % interval of a difference of two ends, by the scatter of their class.
double difference_ns(const Beacons& beacons, const FitResult& free, size_t of_class) {
  const auto group = static_cast<size_t>(beacons.classes[of_class].group);
  return kCover * std::sqrt(2.0) *
         std::hypot(free.fit.cautious_sigma_ns[of_class], free.fit.tau_ns[of_class], free.fit.group_tau_ns[group]);
}

// Per class: what 95 % of the differences of two members' ends stay below on the common clock; of a class with few
// ends, which clocks were fitted to, at least what its scatter makes of them.
std::vector<double> end_differences(const Beacons& beacons, const Fit& fit, const FitResult& free,
                                    const std::vector<int64_t>& resolution_ns) {
  std::vector<std::vector<double>> of_row(beacons.rows());
  tbb::parallel_for(size_t{0}, beacons.rows(), [&](size_t c) {
    const std::vector<double> ends = end_residuals_ns(beacons, fit, c);
    for (size_t k = 0; k + 1 < ends.size() || (k < ends.size() && ends.size() > 2); ++k) {
      of_row[c].push_back(std::fabs(ends[(k + 1) % ends.size()] - ends[k]));
    }
  });
  std::vector<std::vector<double>> differences(beacons.classes.size());
  for (size_t c = 0; c < beacons.rows(); ++c) {
    std::vector<double>& of_class = differences[static_cast<size_t>(beacons.scale_class[c])];
    of_class.insert(of_class.end(), of_row[c].begin(), of_row[c].end());
  }
  const auto coarsest = static_cast<double>(*std::max_element(resolution_ns.begin(), resolution_ns.end()));
  std::vector<double> high;
  for (size_t c = 0; c < differences.size(); ++c) {
    std::vector<double>& d = differences[c];
    const double highest = take_nth(d, std::min(d.size() - 1, (d.size() * 95 + 99) / 100));
    const double least = free.fit.sigma_freedom[c] < kEnoughFreedom ? difference_ns(beacons, free, c) : 0;
    high.push_back(std::max(highest, least) + coarsest);
  }
  return high;
}

}  // namespace

ErrorBars error_bars(const Beacons& beacons, const Fit& applied, const FitResult& free, const SimulatedErrors& errors,
                     const std::vector<int64_t>& resolution_ns) {
  ErrorBars bars;
  const std::vector<double> skew = rms_shift_ns(beacons, free);
  const double most_skew = skew.empty() ? 0 : *std::max_element(skew.begin(), skew.end());
  bars.trace_ns.resize(beacons.traces.size());
  tbb::parallel_for(size_t{0}, beacons.traces.size(), [&](size_t t) {
    bars.trace_ns[t] =
        trace_bar_ns(applied, free.fit, errors, t, most_skew / 2) + static_cast<double>(resolution_ns[t]);
  });
  const std::vector<GroupInFit> groups = groups_of(beacons, free);
  bars.group_ns.resize(groups.size());
  tbb::parallel_for(size_t{0}, groups.size(), [&](size_t g) {
    const double bar = group_bar_ns(applied, free.fit, errors, groups[g], skew[g] / 2);
    double coarsest = 0;
    for (const size_t t : groups[g].members) coarsest = std::max(coarsest, static_cast<double>(resolution_ns[t]));
    bars.group_ns[g] = bar < 0 ? -1 : bar + coarsest;
  });
  bars.end_difference_ns = end_differences(beacons, applied, free, resolution_ns);
  return bars;
}

}  // namespace skewscope::align
