#include "feasible.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace skewscope::align {
namespace {

constexpr int kMostSweeps = 50;
constexpr double kSuspectFloor = 50'000, kSuspectScale = 20;  // ns; times the class's scatter
constexpr double kTolerance = 1'000;                          // ns

// Corrected stamps of the rows that take part, minus the row's first end.
struct Corrected {
  std::vector<size_t> rows;
  std::vector<double> start, end;
};

Corrected correct(const Beacons& beacons, const Fit& fit, Feasible& feasible) {
  Corrected stamps;
  stamps.start.resize(beacons.trace.size());
  stamps.end.resize(beacons.trace.size());
  for (size_t c = 0; c < beacons.rows(); ++c) {
    double low = INFINITY, high = -INFINITY, last_start = -INFINITY;
    const int64_t base = beacons.end_ns[beacons.begin(c)];
    for (size_t k = beacons.begin(c); k < beacons.end(c); ++k) {
      const auto t = static_cast<size_t>(beacons.trace[k]);
      const double beta = fit.correction_ns(t, beacons.end_ns[k]);
      stamps.end[k] = static_cast<double>(beacons.end_ns[k] - base) + beta;
      const int64_t start = beacons.start_ns[k];
      stamps.start[k] =
          start == kUnknownStart ? -INFINITY : static_cast<double>(start - base) + fit.correction_ns(t, start);
      low = std::min(low, stamps.end[k]);
      high = std::max(high, stamps.end[k]);
      last_start = std::max(last_start, stamps.start[k]);
    }
    ++feasible.rows;
    if (low < last_start - kTolerance) ++feasible.violations;
    const double scale = fit.sigma_ns[static_cast<size_t>(beacons.scale_class[c])];
    if (high - low > 600'000 + std::max(kSuspectFloor, kSuspectScale * scale)) {
      ++feasible.suspects;
    } else {
      stamps.rows.push_back(c);
    }
  }
  return stamps;
}

// One sweep; true when some bound moved.
bool sweep(const Beacons& beacons, const Corrected& stamps, Feasible& f) {
  bool moved = false;
  for (const size_t c : stamps.rows) {
    double latest = INFINITY, earliest = -INFINITY;  // of the instant everybody had arrived
    for (size_t k = beacons.begin(c); k < beacons.end(c); ++k) {
      const auto t = static_cast<size_t>(beacons.trace[k]);
      latest = std::min(latest, f.high_ns[t] + stamps.end[k]);
      earliest = std::max(earliest, f.low_ns[t] + stamps.start[k]);
    }
    for (size_t k = beacons.begin(c); k < beacons.end(c); ++k) {
      const auto t = static_cast<size_t>(beacons.trace[k]);
      if (latest - stamps.start[k] < f.high_ns[t] - 1) {
        f.high_ns[t] = latest - stamps.start[k];
        moved = true;
      }
      if (earliest - stamps.end[k] > f.low_ns[t] + 1) {
        f.low_ns[t] = earliest - stamps.end[k];
        moved = true;
      }
    }
  }
  return moved;
}

}  // namespace

Feasible feasible_intervals(const Beacons& beacons, const Fit& fit) {
  Feasible f;
  const size_t traces = beacons.traces.size();
  f.low_ns.assign(traces, -INFINITY);
  f.high_ns.assign(traces, INFINITY);
  for (size_t t = 0; t < traces; ++t) {
    if (fit.component[t] == static_cast<int32_t>(t)) f.low_ns[t] = f.high_ns[t] = 0;
  }
  const Corrected stamps = correct(beacons, fit, f);
  for (int i = 0; i < kMostSweeps && !f.contradiction; ++i) {
    const bool moved = sweep(beacons, stamps, f);
    for (size_t t = 0; t < traces; ++t) {
      const bool reference = fit.component[t] == static_cast<int32_t>(t);
      if (reference && (f.high_ns[t] < -kTolerance || f.low_ns[t] > kTolerance)) f.contradiction = true;
    }
    if (!moved) break;
  }
  return f;
}

}  // namespace skewscope::align
