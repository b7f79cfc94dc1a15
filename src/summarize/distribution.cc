#include "distribution.h"

#include <algorithm>
#include <cmath>

namespace skewscope::summarize {
namespace {

// Between the two values next to the place, in proportion.
double interpolated(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

}  // namespace

Distribution distribution_of(std::vector<double>& sample) {
  Distribution d;
  if (sample.empty()) return d;
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double sum = 0, squares = 0;
  for (const double value : sample) sum += value;
  d.mean = sum / n;
  for (const double value : sample) squares += (value - d.mean) * (value - d.mean);
  d.count = static_cast<int64_t>(sample.size());
  d.deviation = sample.size() < 2 ? 0 : std::sqrt(squares / (n - 1));
  d.least = sample.front();
  d.quartile_1 = interpolated(sample, 0.25);
  d.median = interpolated(sample, 0.5);
  d.quartile_3 = interpolated(sample, 0.75);
  d.most = sample.back();
  return d;
}

int64_t percentile(const std::vector<int64_t>& sorted, size_t percent) {
  return sorted[(percent * sorted.size() + 99) / 100 - 1];
}

}  // namespace skewscope::summarize
