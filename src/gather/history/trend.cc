#include "trend.h"

#include <algorithm>
#include <cmath>

namespace skewscope::gather {
namespace {

constexpr size_t kLeast = 3, kMost = 5;
constexpr double kLeastRelative = 0.05, kDeviations = 3;

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double usual_distance(const std::vector<double>& values, double median) {
  std::vector<double> apart;
  for (const double value : values) apart.push_back(std::abs(value - median));
  return median_of(std::move(apart));
}

double mean_distance(const std::vector<double>& values, double median) {
  double sum = 0;
  for (const double value : values) sum += std::abs(value - median);
  return sum / static_cast<double>(values.size());
}

}  // namespace

// Medians tell of a change two figures too soon: of neighbours that is it on both sides of which figures differ least.
std::vector<TrendChange> changes_in(const std::vector<double>& figures) {
  std::vector<TrendChange> all;
  double spread_of_last = 0;
  for (size_t at = kLeast; at + kLeast <= figures.size(); ++at) {
    const auto here = figures.begin() + static_cast<std::ptrdiff_t>(at);
    const std::vector<double> before(here - static_cast<std::ptrdiff_t>(std::min(at, kMost)), here);
    const std::vector<double> after(here, here + static_cast<std::ptrdiff_t>(std::min(figures.size() - at, kMost)));
    const double old_median = median_of(before), new_median = median_of(after);
    const double usual = std::max(usual_distance(before, old_median), usual_distance(after, new_median));
    const double apart = std::abs(new_median - old_median);
    if (old_median <= 0 || apart < kLeastRelative * old_median || apart < kDeviations * usual) continue;
    const double spread = mean_distance(before, old_median) + mean_distance(after, new_median);
    const bool neighbour = !all.empty() && at - all.back().at < kMost;
    if (neighbour && spread >= spread_of_last) continue;
    if (neighbour) all.pop_back();
    all.push_back({at, new_median / old_median - 1});
    spread_of_last = spread;
  }
  return all;
}

}  // namespace skewscope::gather
