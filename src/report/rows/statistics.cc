#include "statistics.h"

#include <algorithm>
#include <numeric>

namespace skewscope::report {
namespace {

// Nearest rank: the smallest value with at least `percent` of the values at or below it. `sorted` is not empty.
double percentile(const std::vector<double>& sorted, size_t percent) {
  return sorted[(percent * sorted.size() + 99) / 100 - 1];
}

// The mean of the two in the middle where their number is even.
double median(const std::vector<double>& sorted) {
  return std::midpoint(sorted[(sorted.size() - 1) / 2], sorted[sorted.size() / 2]);
}

}  // namespace

Statistics statistics_of(std::vector<double>& values) {
  Statistics s;
  if (values.empty()) return s;
  std::sort(values.begin(), values.end());  // also makes the floating-point sum independent of the order
  s.sum = std::accumulate(values.begin(), values.end(), 0.0);
  s.mean = s.sum / static_cast<double>(values.size());
  s.median = median(values);
  s.p99 = percentile(values, 99);
  s.min = values.front();
  s.max = values.back();
  s.count = static_cast<int64_t>(values.size());
  return s;
}

}  // namespace skewscope::report
