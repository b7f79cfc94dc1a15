#include "joint_fit.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "collectives/shift_search.h"
#include "skewscope/base/disjoint_sets.h"

namespace skewscope::align {
namespace {

constexpr double kMostDrift = 30e-6;  // sigma_d: what a crystal oscillator drifts
constexpr double kLeastScale = 300;   // ns
constexpr int kRounds = 6, kHuberRounds = 2, kMostSteps = 60;

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Rows that take part, their observations by trace, and all that one round of the fit needs.
struct System {
  const Beacons& beacons;
  std::vector<size_t> rows;
  std::vector<std::vector<std::pair<size_t, size_t>>> by_trace;  // (position in rows, observation)
  std::vector<double> u;                                         // per row
  std::vector<double> y;       // per observation: corrected end minus its row's median
  std::vector<double> weight;  // per observation
  size_t parameters;           // per trace: 1 or 2
  double ridge_b;

  size_t begin(size_t c) const { return static_cast<size_t>(beacons.row_begin[c]); }
  size_t end(size_t c) const { return static_cast<size_t>(beacons.row_begin[c + 1]); }
};

// Weighted mean of v over row c.
template <class Value>
double row_mean(const System& s, size_t c, const Value& v) {
  double sum = 0, weight = 0;
  for (size_t k = s.begin(c); k < s.end(c); ++k) {
    sum += s.weight[k] * v(k);
    weight += s.weight[k];
  }
  return weight > 0 ? sum / weight : 0;
}

// out = Phi^T W C v: v centred by row, weighted, gathered by trace.
template <class Value>
void gather(const System& s, const Value& v, std::vector<double>& out) {
  std::vector<double> mean(s.rows.size());
  tbb::parallel_for(size_t{0}, s.rows.size(),
                    [&](size_t i) { mean[i] = row_mean(s, s.rows[i], [&](size_t k) { return v(i, k); }); });
  tbb::parallel_for(size_t{0}, s.by_trace.size(), [&](size_t t) {
    double a = 0, b = 0;
    for (const auto& [i, k] : s.by_trace[t]) {
      const double q = s.weight[k] * (v(i, k) - mean[i]);
      a += q;
      b += q * s.u[i];
    }
    out[t * s.parameters] = a;
    if (s.parameters == 2) out[t * s.parameters + 1] = b;
  });
}

void apply(const System& s, const std::vector<double>& z, std::vector<double>& out) {
  gather(
      s,
      [&](size_t i, size_t k) {
        const auto t = static_cast<size_t>(s.beacons.trace[k]);
        return z[t * s.parameters] + (s.parameters == 2 ? z[t * s.parameters + 1] * s.u[i] : 0);
      },
      out);
  if (s.parameters == 1) return;
  for (size_t t = 0; t < s.by_trace.size(); ++t) out[2 * t + 1] += s.ridge_b * z[2 * t + 1];
}

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

// Conjugate gradients for (A + ridge) z = -Phi^T W C y.
std::vector<double> solve(const System& s) {
  const size_t n = s.by_trace.size() * s.parameters;
  std::vector<double> z(n, 0), r(n), p(n), q(n), d(n, 1);
  gather(
      s, [&](size_t, size_t k) { return -s.y[k]; }, r);
  for (size_t t = 0; t < s.by_trace.size(); ++t) {
    double a = 0, b = s.ridge_b;
    for (const auto& [i, k] : s.by_trace[t]) {
      a += s.weight[k];
      b += s.weight[k] * s.u[i] * s.u[i];
    }
    d[t * s.parameters] = a > 0 ? a : 1;
    if (s.parameters == 2) d[t * s.parameters + 1] = b > 0 ? b : 1;
  }
  const auto precondition = [&](const std::vector<double>& x) {
    std::vector<double> m(n);
    for (size_t i = 0; i < n; ++i) m[i] = x[i] / d[i];
    return m;
  };
  std::vector<double> m = precondition(r);
  p = m;
  double rm = dot(r, m);
  const double first = rm;
  for (int step = 0; step < kMostSteps && rm > 1e-18 * first && rm > 0; ++step) {
    apply(s, p, q);
    const double pq = dot(p, q);
    if (pq <= 0) break;
    const double alpha = rm / pq;
    for (size_t i = 0; i < n; ++i) {
      z[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    m = precondition(r);
    const double next = dot(r, m);
    for (size_t i = 0; i < n; ++i) p[i] = m[i] + next / rm * p[i];
    rm = next;
  }
  return z;
}

// Ties between two traces of one component, for the starting values.
struct Link {
  int32_t from, to;
  ClockLine line;  // maps `to` onto `from`
  size_t ties;
};

std::vector<Link> links_of(const System& s) {
  std::map<std::pair<int32_t, int32_t>, std::vector<ClockTie>> ties;
  for (const size_t c : s.rows) {
    const size_t hub = s.begin(c);  // members are sorted by trace
    for (size_t k = hub + 1; k < s.end(c); ++k) {
      ties[{s.beacons.trace[hub], s.beacons.trace[k]}].push_back(
          {s.beacons.end_ns[k], s.beacons.end_ns[hub] - s.beacons.end_ns[k]});
    }
  }
  std::vector<Link> links;
  for (auto& [pair, list] : ties) {
    const size_t n = list.size();
    links.push_back({pair.first, pair.second, resistant_line(std::move(list)), n});
  }
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return std::tie(b.ties, a.from, a.to) < std::tie(a.ties, b.from, b.to);
  });
  return links;
}

// The maximum spanning forest: most ties first. Per trace its neighbours and how their clocks map onto its own.
struct Step {
  size_t to;
  ClockLine line;
  bool forward;  // line maps `to` onto this trace; else this trace onto `to`
};
using Forest = std::vector<std::vector<Step>>;

Forest forest_of(const System& s, size_t traces) {
  DisjointSets sets(traces);
  Forest forest(traces);
  for (const Link& link : links_of(s)) {
    if (!sets.unite(static_cast<size_t>(link.from), static_cast<size_t>(link.to))) continue;
    forest[static_cast<size_t>(link.from)].push_back({static_cast<size_t>(link.to), link.line, true});
    forest[static_cast<size_t>(link.to)].push_back({static_cast<size_t>(link.from), link.line, false});
  }
  return forest;
}

// Calls visit(from, step) along the forest, from each component's smallest trace outwards.
template <class Visit>
void walk(const Forest& forest, const Visit& visit) {
  std::vector<bool> seen(forest.size(), false);
  for (size_t first = 0; first < forest.size(); ++first) {
    if (seen[first]) continue;
    std::vector<size_t> open{first};
    seen[first] = true;
    while (!open.empty()) {
      const size_t t = open.back();
      open.pop_back();
      for (const Step& step : forest[t]) {
        if (seen[step.to]) continue;
        seen[step.to] = true;
        visit(t, step);
        open.push_back(step.to);
      }
    }
  }
}

void set_window(const System& s, Fit& fit) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (const size_t c : s.rows) {
    for (size_t k = s.begin(c); k < s.end(c); ++k) {
      const int64_t end = s.beacons.end_ns[k] + fit.base_ns[static_cast<size_t>(s.beacons.trace[k])];
      low = std::min(low, end);
      high = std::max(high, end);
    }
  }
  fit.center_ns = std::midpoint(low, high);
  fit.half_window_ns = std::max(1e6, (static_cast<double>(high) - static_cast<double>(low)) / 2);
}

// Whole offsets first, then the window they leave, then the lines within it.
void start_values(const System& s, Fit& fit) {
  if (fit.freedom == Freedom::identity) return set_window(s, fit);
  const Forest forest = forest_of(s, fit.a_ns.size());
  walk(forest, [&](size_t from, const Step& step) {
    const int64_t offset = std::llround(step.line.offset_ns);
    fit.base_ns[step.to] = fit.base_ns[from] + (step.forward ? offset : -offset);
  });
  set_window(s, fit);
  if (fit.freedom != Freedom::line) return;
  walk(forest, [&](size_t from, const Step& step) {
    // The line's own centre, on the common clock: it was read on the clock that the line maps.
    const size_t mapped = step.forward ? step.to : from;
    const int64_t center = step.line.center_ns + fit.base_ns[mapped];
    const double sign = step.forward ? 1 : -1;
    const double rest = step.line.slope * static_cast<double>(fit.center_ns - center);
    fit.a_ns[step.to] = fit.a_ns[from] + sign * rest;
    fit.b_ns[step.to] = fit.b_ns[from] + sign * step.line.slope * fit.half_window_ns;
  });
}

// Corrected ends minus their row's median; the row's consensus time.
void refresh(System& s, const Fit& fit) {
  tbb::parallel_for(size_t{0}, s.rows.size(), [&](size_t i) {
    const size_t c = s.rows[i];
    const int64_t base = s.beacons.end_ns[s.begin(c)];
    std::vector<double> t;
    for (size_t k = s.begin(c); k < s.end(c); ++k) {
      const auto trace = static_cast<size_t>(s.beacons.trace[k]);
      s.y[k] = static_cast<double>(s.beacons.end_ns[k] - base) + fit.correction_ns(trace, s.beacons.end_ns[k]);
      t.push_back(s.y[k]);
    }
    const double middle = median(t);
    s.u[i] = (static_cast<double>(base - fit.center_ns) + middle) / fit.half_window_ns;
    for (size_t k = s.begin(c); k < s.end(c); ++k) s.y[k] -= middle;
  });
}

void update_scales(const System& s, Fit& fit) {
  std::vector<std::vector<double>> residuals(static_cast<size_t>(s.beacons.classes));
  for (const size_t c : s.rows) {
    for (size_t k = s.begin(c); k < s.end(c); ++k) {
      residuals[static_cast<size_t>(s.beacons.scale_class[c])].push_back(std::fabs(s.y[k]));
    }
  }
  fit.sigma_ns.assign(residuals.size(), kLeastScale);
  for (size_t i = 0; i < residuals.size(); ++i) {
    if (!residuals[i].empty()) fit.sigma_ns[i] = std::max(kLeastScale, 1.4826 * median(residuals[i]));
  }
}

void update_weights(System& s, const Fit& fit, double middle_spread, bool huber) {
  for (const size_t c : s.rows) {
    const double sigma = fit.sigma_ns[static_cast<size_t>(s.beacons.scale_class[c])];
    const double imbalance = middle_spread > 0 ? s.beacons.spread_ns[c] / middle_spread : 0;
    const double row = 1e6 / (sigma * sigma) / (1 + imbalance * imbalance);
    for (size_t k = s.begin(c); k < s.end(c); ++k) {
      const double z = std::fabs(s.y[k]) / sigma;
      constexpr double kHuber = 1.345, kTukey = 4.685;
      const double rest = 1 - z * z / (kTukey * kTukey);
      s.weight[k] = row * (huber ? (z <= kHuber ? 1 : kHuber / z) : (rest > 0 ? rest * rest : 0));
    }
  }
}

// Every component's smallest trace becomes the reference: a = b = 0. Its base is 0: the forest is walked from it.
void fix_gauge(const Beacons& beacons, Fit& fit) {
  const std::vector<double> a = fit.a_ns, b = fit.b_ns;
  for (size_t t = 0; t < a.size(); ++t) {
    const auto reference = static_cast<size_t>(std::max(beacons.component[t], 0));
    fit.a_ns[t] = beacons.component[t] < 0 ? 0 : a[t] - a[reference];
    fit.b_ns[t] = beacons.component[t] < 0 ? 0 : b[t] - b[reference];
  }
}

System make_system(const Beacons& beacons, const std::vector<bool>& use, size_t traces, size_t parameters) {
  System s{beacons, {}, {}, {}, {}, {}, parameters, 0};
  s.by_trace.resize(traces);
  for (size_t c = 0; c < beacons.rows(); ++c) {
    if (!use[c]) continue;
    for (size_t k = s.begin(c); k < s.end(c); ++k) {
      s.by_trace[static_cast<size_t>(beacons.trace[k])].emplace_back(s.rows.size(), k);
    }
    s.rows.push_back(c);
  }
  s.u.resize(s.rows.size());
  s.y.assign(beacons.end_ns.size(), 0);
  s.weight.assign(beacons.end_ns.size(), 0);
  return s;
}

}  // namespace

Fit fit_clocks(const Beacons& beacons, const std::vector<bool>& use, Freedom freedom) {
  const size_t traces = beacons.component.size();
  Fit fit;
  fit.freedom = freedom;
  fit.base_ns.assign(traces, 0);
  fit.a_ns.assign(traces, 0);
  fit.b_ns.assign(traces, 0);
  System s = make_system(beacons, use, traces, freedom == Freedom::line ? 2 : 1);
  if (s.rows.empty()) return fit;
  start_values(s, fit);
  const double most_b = kMostDrift * fit.half_window_ns;
  s.ridge_b = 1e6 / (most_b * most_b);

  std::vector<double> spreads;
  for (const size_t c : s.rows) spreads.push_back(beacons.spread_ns[c]);
  const double middle_spread = median(spreads);
  for (int round = 0; round < kRounds; ++round) {
    refresh(s, fit);
    update_scales(s, fit);
    if (freedom == Freedom::identity) break;
    update_weights(s, fit, middle_spread, round < kHuberRounds);
    const std::vector<double> z = solve(s);
    for (size_t t = 0; t < traces; ++t) {
      fit.a_ns[t] += z[t * s.parameters];
      if (s.parameters == 2) fit.b_ns[t] += z[t * s.parameters + 1];
    }
  }
  fix_gauge(beacons, fit);
  return fit;
}

std::vector<double> end_residuals_ns(const Beacons& beacons, const Fit& fit, size_t row) {
  const auto first = static_cast<size_t>(beacons.row_begin[row]);
  std::vector<double> t;
  for (size_t k = first; k < static_cast<size_t>(beacons.row_begin[row + 1]); ++k) {
    t.push_back(static_cast<double>(beacons.end_ns[k] - beacons.end_ns[first]) +
                fit.correction_ns(static_cast<size_t>(beacons.trace[k]), beacons.end_ns[k]));
  }
  std::vector<double> sorted = t;
  const double middle = median(sorted);
  for (double& v : t) v -= middle;
  return t;
}

}  // namespace skewscope::align
