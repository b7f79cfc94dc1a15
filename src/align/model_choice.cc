#include "model_choice.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace skewscope::align {
namespace {

constexpr size_t kLeastHeldOut = 4;          // rows; fewer judge nothing
constexpr double kFloor = 100;               // ns; agreement finer than this is luck
constexpr int64_t kCausalitySlack = 50'000;  // ns

struct Score {
  double loss = 0;    // mean log median distance
  double p95_ns = 0;  // 95th percentile of all distances
};

Score score(const Beacons& beacons, const Fit& fit, const std::vector<bool>& judge) {
  std::map<int32_t, std::vector<double>> by_class;
  std::vector<double> all;
  for (size_t c = 0; c < beacons.rows(); ++c) {
    if (!judge[c]) continue;
    for (const double d : end_residuals_ns(beacons, fit, c)) {
      by_class[beacons.scale_class[c]].push_back(std::fabs(d));
      all.push_back(std::fabs(d));
    }
  }
  Score result;
  for (auto& [scale_class, distances] : by_class) {
    // Rows of two have their median at a member: the upper middle is the one that tells.
    const auto middle = distances.begin() + static_cast<int64_t>(distances.size() / 2);
    std::nth_element(distances.begin(), middle, distances.end());
    result.loss += std::log(std::max(kFloor, *middle)) / static_cast<double>(by_class.size());
  }
  const auto high = all.begin() + static_cast<int64_t>(all.size() * 95 / 100);
  std::nth_element(all.begin(), high, all.end());
  result.p95_ns = *high;
  return result;
}

bool contradicts_causality(const Beacons& beacons, const std::vector<bool>& use) {
  for (size_t c = 0; c < beacons.rows(); ++c) {
    if (!use[c]) continue;
    int64_t last_start = INT64_MIN, first_end = INT64_MAX;
    for (auto k = static_cast<size_t>(beacons.row_begin[c]); k < static_cast<size_t>(beacons.row_begin[c + 1]); ++k) {
      last_start = std::max(last_start, beacons.start_ns[k]);
      first_end = std::min(first_end, beacons.end_ns[k]);
    }
    if (first_end < last_start - kCausalitySlack) return true;
  }
  return false;
}

}  // namespace

Freedom choose_freedom(const Beacons& beacons, const std::vector<bool>& use, int64_t resolution_ns, bool force) {
  std::vector<bool> fit_rows(use.size(), false), held_out(use.size(), false);
  size_t held = 0;
  for (size_t c = 0; c < use.size(); ++c) {
    if (!use[c]) continue;
    const bool even = beacons.ordinal[c] % 2 == 0;
    (even ? fit_rows : held_out)[c] = true;
    held += even ? 0 : 1;
  }
  if (held < kLeastHeldOut) {
    return force || contradicts_causality(beacons, use) ? Freedom::offset : Freedom::identity;
  }
  const Score identity = score(beacons, fit_clocks(beacons, fit_rows, Freedom::identity), held_out);
  const Score offset = score(beacons, fit_clocks(beacons, fit_rows, Freedom::offset), held_out);
  const Score line = score(beacons, fit_clocks(beacons, fit_rows, Freedom::line), held_out);
  const double within = std::log(1.05), gain = std::log(1 / 0.9);
  const double best = std::min(offset.loss, line.loss);
  const Freedom better = offset.loss <= best + within ? Freedom::offset : Freedom::line;
  if (force) return better;
  const bool worth = identity.loss - best >= gain &&
                     identity.p95_ns > static_cast<double>(std::max<int64_t>(2'000, 2 * resolution_ns));
  return worth ? better : Freedom::identity;
}

}  // namespace skewscope::align
