#include "model_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "clumping.h"
#include "shared_fits.h"
#include "skewscope/base/disjoint_sets.h"
#include "skewscope/base/middle.h"

namespace skewscope::align {
namespace {

constexpr size_t kMostPerClass = 32, kLeastPerClass = 4, kLeastHeldOut = 6;
constexpr double kFloor = 50;                // ns; agreement finer than this is luck
constexpr double kUnknownScatter = 5'000;    // ns; of ends that nobody could measure
constexpr int64_t kCausalitySlack = 50'000;  // ns
constexpr std::array<Freedom, 4> kLadder = {Freedom::identity, Freedom::offset, Freedom::line, Freedom::bent};
constexpr size_t kLine = 2;  // of the ladder

// The rows to judge by, in which fold each is held out; -1: in none.
struct Folds {
  std::vector<bool> rows;
  std::vector<int> fold;
};

size_t components(const Beacons& beacons, const std::vector<bool>& use) {
  DisjointSets sets(beacons.traces.size());
  size_t count = beacons.traces.size();
  for (size_t c = 0; c < beacons.rows(); ++c) {
    if (!use[c]) continue;
    for (size_t k = beacons.begin(c) + 1; k < beacons.end(c); ++k) {
      count -= sets.unite(static_cast<size_t>(beacons.trace[beacons.begin(c)]), static_cast<size_t>(beacons.trace[k]));
    }
  }
  return count;
}

// Evenly thinned: at most kMostPerClass rows per class.
std::vector<bool> thinned(const Beacons& beacons, const std::vector<bool>& use, std::vector<size_t>& per_class) {
  std::vector<size_t> total(beacons.classes.size(), 0), seen(beacons.classes.size(), 0);
  for (size_t c = 0; c < use.size(); ++c) total[static_cast<size_t>(beacons.scale_class[c])] += use[c] ? 1 : 0;
  std::vector<bool> rows(use.size(), false);
  per_class.assign(total.size(), 0);
  for (size_t c = 0; c < use.size(); ++c) {
    if (!use[c]) continue;
    const auto i = static_cast<size_t>(beacons.scale_class[c]);
    const size_t n = seen[i]++;
    const size_t kept = std::min(total[i], kMostPerClass);
    rows[c] = (n + 1) * kept / total[i] > n * kept / total[i];
    per_class[i] += rows[c] ? 1 : 0;
  }
  return rows;
}

bool folds_by_class(const Beacons& beacons, const std::vector<size_t>& per_class, Folds& folds) {
  std::vector<int> classes(beacons.groups.size(), 0);
  for (size_t i = 0; i < per_class.size(); ++i) {
    if (per_class[i] == 0) continue;
    if (per_class[i] < kLeastPerClass) return false;
    ++classes[static_cast<size_t>(beacons.classes[i].group)];
  }
  if (std::any_of(classes.begin(), classes.end(), [](int n) { return n == 1; })) return false;
  std::vector<bool> half[2] = {folds.rows, folds.rows};
  for (size_t c = 0; c < folds.rows.size(); ++c) {
    if (!folds.rows[c]) continue;
    folds.fold[c] = beacons.classes[static_cast<size_t>(beacons.scale_class[c])].ordinal % 2;
    half[folds.fold[c]][c] = false;
  }
  const size_t all = components(beacons, folds.rows);
  return components(beacons, half[0]) == all && components(beacons, half[1]) == all;
}

// Every second row of each class; groups with too few rows in neither fold.
void folds_by_instance(const Beacons& beacons, const std::vector<size_t>& per_class, Folds& folds) {
  std::vector<size_t> per_group(beacons.groups.size(), 0), seen(per_class.size(), 0);
  for (size_t i = 0; i < per_class.size(); ++i) {
    per_group[static_cast<size_t>(beacons.classes[i].group)] += per_class[i];
  }
  for (size_t c = 0; c < folds.rows.size(); ++c) {
    if (!folds.rows[c]) continue;
    const auto i = static_cast<size_t>(beacons.scale_class[c]);
    const bool enough = per_group[static_cast<size_t>(beacons.group_of(c))] >= kLeastHeldOut;
    const size_t n = seen[i]++ + static_cast<size_t>(beacons.classes[i].ordinal);
    folds.fold[c] = enough ? static_cast<int>(n % 2) : -1;
  }
}

Folds make_folds(const Beacons& beacons, const std::vector<bool>& use) {
  std::vector<size_t> per_class;
  Folds folds;
  folds.rows = thinned(beacons, use, per_class);
  folds.fold.assign(folds.rows.size(), -1);
  if (!folds_by_class(beacons, per_class, folds)) folds_by_instance(beacons, per_class, folds);
  return folds;
}

// Distances of ends from their row's middle.
constexpr int kFittedInBoth = 2;  // a fold's number
using ClassInFold = std::pair<int32_t, int>;
struct Distances {
  Freedom freedom = Freedom::identity;
  Fit fit;                   // without one of the folds
  std::vector<size_t> rows;  // per group: its rows that take part
  std::map<ClassInFold, std::vector<double>> by_class;
  std::vector<std::vector<double>> by_trace;  // held out
};

TiedRows rows_without(const Beacons& beacons, const Folds& folds, int fold) {
  std::vector<bool> fitted = folds.rows;
  for (size_t c = 0; c < fitted.size(); ++c) fitted[c] = fitted[c] && folds.fold[c] != fold;
  return tie_rows(beacons, std::move(fitted));
}

void add_distances(const Beacons& beacons, const Folds& folds, int fold, const Fit& fit, Distances& distances) {
  for (size_t c = 0; c < folds.rows.size(); ++c) {
    const bool in_sample = folds.fold[c] < 0 && fold == 0;
    if (!folds.rows[c] || (folds.fold[c] != fold && !in_sample)) continue;
    std::vector<double>& of_class = distances.by_class[{beacons.scale_class[c], in_sample ? kFittedInBoth : fold}];
    const std::vector<double> residuals = end_residuals_ns(beacons, fit, c);
    for (size_t k = 0; k < residuals.size(); ++k) {
      of_class.push_back(std::fabs(residuals[k]));
      if (in_sample) continue;
      const auto trace = static_cast<size_t>(beacons.trace[beacons.begin(c) + k]);
      distances.by_trace[trace].push_back(of_class.back());
    }
  }
}

// Row = row of `freedoms`.
std::vector<Distances> judge(const Beacons& beacons, const Folds& folds, const std::vector<Freedom>& freedoms,
                             Exchange& exchange) {
  const std::array<TiedRows, 2> fitted = {rows_without(beacons, folds, 0), rows_without(beacons, folds, 1)};
  const std::vector<Fit> fits = shared_fits(
      2 * freedoms.size(), [&](size_t k) { return fit_clocks(beacons, fitted[k % 2], freedoms[k / 2], 4).fit; },
      exchange);
  std::vector<size_t> rows(beacons.groups.size(), 0);
  for (size_t c = 0; c < folds.rows.size(); ++c)
    rows[static_cast<size_t>(beacons.group_of(c))] += folds.rows[c] ? 1 : 0;
  std::vector<Distances> distances(freedoms.size());
  for (size_t k = 0; k < fits.size(); ++k) {
    Distances& of_freedom = distances[k / 2];
    of_freedom.freedom = freedoms[k / 2];
    of_freedom.fit = fits[k];
    of_freedom.rows = rows;
    of_freedom.by_trace.resize(beacons.traces.size());
    add_distances(beacons, folds, static_cast<int>(k % 2), fits[k], of_freedom);
  }
  return distances;
}

// Median distance of a class. Ends that were fitted agree too well; with one more row than terms, or fewer, nothing is
// known of them but what ends scatter that nobody could measure.
double class_distance(const Beacons& beacons, const Distances& distances, const ClassInFold& key) {
  const double middle = std::max(kFloor, middle_of(distances.by_class.at(key)));
  if (key.second != kFittedInBoth || distances.freedom == Freedom::identity) return middle;
  const auto group = static_cast<size_t>(beacons.classes[static_cast<size_t>(key.first)].group);
  const auto rows = static_cast<double>(distances.rows[group]);
  const double terms = distances.freedom == Freedom::offset ? 1 : 2;
  if (rows <= terms) return std::max(middle, kUnknownScatter);
  const double freed = middle * std::sqrt(rows / (rows - terms));
  return rows <= terms + 1 ? std::max(freed, kUnknownScatter) : freed;
}

// Logs of the median distance over that of a simpler model, over classes.
struct Gain {
  std::vector<double> per_class;
  size_t ends = 0;

  double mean() const {
    return std::accumulate(per_class.begin(), per_class.end(), 0.0) / static_cast<double>(per_class.size());
  }
  // The deviation of the mean: by the scatter of classes, and never below what so many ends can tell, of which `alike`
  // count as one.
  double deviation(double alike) const {
    const auto n = static_cast<double>(per_class.size());
    double squares = 0;
    for (const double g : per_class) squares += (g - mean()) * (g - mean());
    const double floor = 0.5 * std::sqrt(alike / static_cast<double>(ends));
    return std::max(floor, n > 1 ? std::sqrt(squares / (n - 1) / n) : 0);
  }
};

// What a model changes for one kind of groups: for what was held out, for what was fitted in both folds, for both. They
// are judged apart: one cannot tell what the other gains.
struct KindGain {
  Gain held_out, fitted, all;
};

// By kind. What was fitted in both folds must gain 30 % before it counts, and never speaks for a bend, which follows
// any few ends.
std::map<int32_t, KindGain> gains(const Beacons& beacons, const Distances& model, const Distances& simpler, bool bend) {
  std::map<int32_t, KindGain> result;
  for (const auto& [key, distances] : model.by_class) {
    const bool fitted = key.second == kFittedInBoth;
    double gain = std::log(class_distance(beacons, model, key) / class_distance(beacons, simpler, key));
    if (fitted && gain < 0) gain = bend ? 0 : std::min(0.0, gain - std::log(0.7));
    const auto group = static_cast<size_t>(beacons.classes[static_cast<size_t>(key.first)].group);
    KindGain& kind = result[beacons.groups[group].kind];
    for (Gain* const some : {fitted ? &kind.fitted : &kind.held_out, &kind.all}) {
      some->per_class.push_back(gain);
      some->ends += distances.size();
    }
  }
  return result;
}

// Whether some kind's ends come closer by `share`, beyond luck.
bool gained(const std::map<int32_t, KindGain>& kinds, double share, double alike) {
  const auto closer = [&](const Gain& gain) {
    if (gain.per_class.empty()) return false;
    return gain.mean() < std::log(1 - share) && gain.mean() + 2.5 * gain.deviation(alike) < 0;
  };
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const auto& kind) { return closer(kind.second.held_out) || closer(kind.second.fitted); });
}

// Whether some trace's ends come twice as close, and by more than stamps: one bad clock among many good ones.
bool rescued(const Distances& model, const Distances& simpler, int64_t resolution_ns, double alike) {
  const double least = std::max(2'000.0, 2 * static_cast<double>(resolution_ns));
  for (size_t t = 0; t < model.by_trace.size(); ++t) {
    if (model.by_trace[t].size() < kLeastHeldOut) continue;
    const double before = middle_of(simpler.by_trace[t]), after = middle_of(model.by_trace[t]);
    if (before > (1 + std::sqrt(alike)) * after && before - after > least) return true;
  }
  return false;
}

// Whether the recorded ends scatter by more than stamps and kernels explain.
bool worth_correcting(const Distances& identity, const Distances& model, int64_t resolution_ns) {
  std::vector<double> recorded, left;
  for (const auto& [key, d] : identity.by_class) recorded.insert(recorded.end(), d.begin(), d.end());
  for (const auto& [key, d] : model.by_class) left.insert(left.end(), d.begin(), d.end());
  const double high = take_nth(recorded, recorded.size() * 95 / 100);
  const double half_scatter = 1.4826 * middle_of(left) / 2;
  return high > std::max({2'000.0, 2 * static_cast<double>(resolution_ns), half_scatter});
}

bool contradicts_causality(const Beacons& beacons, const std::vector<bool>& use) {
  for (size_t c = 0; c < beacons.rows(); ++c) {
    if (!use[c]) continue;
    int64_t last_start = INT64_MIN, first_end = INT64_MAX;
    for (size_t k = beacons.begin(c); k < beacons.end(c); ++k) {
      last_start = std::max(last_start, beacons.start_ns[k]);
      first_end = std::min(first_end, beacons.end_ns[k]);
    }
    if (first_end < last_start - kCausalitySlack) return true;
  }
  return false;
}

// Where nothing can be held out: whether an offset brings the fitted ends themselves three times as close.
bool tightens_threefold(const Beacons& beacons, const Folds& folds, int64_t resolution_ns, Exchange& exchange) {
  const std::vector<Distances> judged = judge(beacons, folds, {Freedom::identity, Freedom::offset}, exchange);
  const auto middle = [&](const Distances& of_freedom) {
    std::vector<double> all;
    for (const auto& [key, distances] : of_freedom.by_class) {
      all.insert(all.end(), distances.size(), class_distance(beacons, of_freedom, key));
    }
    return all.empty() ? 0 : middle_of(all);
  };
  const double before = middle(judged[0]), after = middle(judged[1]);
  return before > 3 * after && before > std::max(2'000.0, 2 * static_cast<double>(resolution_ns));
}

// The kind whose held-out ends got worse most; -1: none.
int32_t worst_kind(const std::map<int32_t, KindGain>& kinds) {
  int32_t worst = -1;
  double loss = std::log(1.1);
  for (const auto& [kind, gain] : kinds) {
    if (kinds.size() < 2 || gain.all.mean() <= loss || gain.all.mean() < 2.5 * gain.all.deviation(1)) continue;
    loss = gain.all.mean();
    worst = kind;
  }
  return worst;
}

constexpr double kMostSlew = 500e-6;  // change of a clock's rate: what NTP slews by
constexpr double kMostOff = 120e-6;   // of one clock's rate against another's: four times 30 ppm of a crystal

// Whether the window is so short that a clock whose rate is off by `most` would not show it by what the ends scatter.
bool too_short_to_show(double most, const Distances& simpler) {
  std::vector<double> all;
  for (const auto& [key, distances] : simpler.by_class) all.insert(all.end(), distances.begin(), distances.end());
  return all.empty() || most * simpler.fit.half_window_ns / 2 < middle_of(all);
}

// Up the ladder as long as a step gains 5 %.
size_t climb(const Beacons& beacons, const std::vector<Distances>& distances, int64_t resolution_ns, double alike,
             bool force) {
  size_t at = force ? 1 : 0;
  for (size_t next = at + 1; next < kLadder.size(); ++next) {
    const bool bend = kLadder[next] == Freedom::bent;
    if (bend && too_short_to_show(kMostSlew, distances[next - 1])) break;
    if (next == kLine && too_short_to_show(kMostOff, distances[next - 1])) break;
    // Ends that hang together by the step look like an offset. What goes on beyond steps is a clock's.
    const double as_one = at == 0 ? alike : 1;
    const bool better = gained(gains(beacons, distances[next], distances[at], bend), 0.05, as_one);
    if (better || (!bend && rescued(distances[next], distances[at], resolution_ns, as_one))) at = next;
  }
  return at;
}

}  // namespace

ModelChoice choose_model(const Beacons& beacons, int64_t resolution_ns, bool force, Exchange& exchange) {
  ModelChoice choice;
  choice.use.assign(beacons.rows(), true);
  for (int32_t kind = 0; kind < beacons.kinds; ++kind) {
    const Folds folds = make_folds(beacons, choice.use);
    if (static_cast<size_t>(std::count_if(folds.fold.begin(), folds.fold.end(), [](int f) { return f >= 0; })) <
        kLeastHeldOut) {
      const bool offset = force || contradicts_causality(beacons, choice.use) ||
                          tightens_threefold(beacons, folds, resolution_ns, exchange);
      choice.freedom = offset ? Freedom::offset : Freedom::identity;
      return choice;
    }
    const std::vector<Distances> distances = judge(beacons, folds, {kLadder.begin(), kLadder.end()}, exchange);
    choice.alike = clumping(beacons, folds.rows, distances[kLine].fit);
    const size_t at = climb(beacons, distances, resolution_ns, choice.alike, force);
    choice.freedom = kLadder[at];
    if (force) return choice;
    const auto kinds = gains(beacons, distances[at], distances[0], false);
    const bool worth = gained(kinds, 0.1, choice.alike) && worth_correcting(distances[0], distances[at], resolution_ns);
    if (!worth && !rescued(distances[at], distances[0], resolution_ns, choice.alike)) {
      choice.freedom = Freedom::identity;
      return choice;
    }
    const int32_t worst = worst_kind(kinds);
    if (worst < 0) return choice;
    choice.dropped = true;
    for (size_t c = 0; c < choice.use.size(); ++c) choice.use[c] = choice.use[c] && beacons.kind_of(c) != worst;
  }
  return choice;
}

}  // namespace skewscope::align
