#include "spread.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace skewscope::summarize {
namespace {

template <class Value>
double median_of(const std::vector<Value>& sorted) {
  const size_t half = sorted.size() / 2;
  const auto upper = static_cast<double>(sorted[half]);
  return sorted.size() % 2 == 1 ? upper : (static_cast<double>(sorted[half - 1]) + upper) / 2;
}

template <class Value>
double deviation_of(const std::vector<Value>& values, double mean) {
  if (values.size() < 2) return 0;
  double squares = 0;
  for (const Value value : values) squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// Between the two values next to the place, in proportion.
double interpolated(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

}  // namespace

TimeSpread spread_of(std::vector<int64_t>& durations_ns) {
  TimeSpread spread;
  if (durations_ns.empty()) return spread;
  std::sort(durations_ns.begin(), durations_ns.end());
  spread.count = static_cast<int64_t>(durations_ns.size());
  spread.sum_ns = std::accumulate(durations_ns.begin(), durations_ns.end(), int64_t{0});
  spread.min_ns = durations_ns.front();
  spread.max_ns = durations_ns.back();
  spread.median_ns = median_of(durations_ns);
  spread.deviation_ns = deviation_of(durations_ns, spread.mean_ns());
  return spread;
}

RateSpread rates_of(const std::vector<int64_t>& durations_ns) {
  std::vector<double> rates;
  for (const int64_t ns : durations_ns) {
    if (ns > 0) rates.push_back(1e9 / static_cast<double>(ns));
  }
  RateSpread spread;
  if (rates.empty()) return spread;
  std::sort(rates.begin(), rates.end());
  spread.mean = std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size());
  spread.median = median_of(rates);
  spread.deviation = deviation_of(rates, spread.mean);
  spread.min = rates.front();
  spread.max = rates.back();
  return spread;
}

Distribution distribution_of(std::vector<double>& sample) {
  Distribution d;
  if (sample.empty()) return d;
  std::sort(sample.begin(), sample.end());
  d.count = static_cast<int64_t>(sample.size());
  d.mean = std::accumulate(sample.begin(), sample.end(), 0.0) / static_cast<double>(sample.size());
  d.deviation = deviation_of(sample, d.mean);
  d.least = sample.front();
  d.quartile_1 = interpolated(sample, 0.25);
  d.median = median_of(sample);
  d.quartile_3 = interpolated(sample, 0.75);
  d.most = sample.back();
  return d;
}

int64_t percentile(const std::vector<int64_t>& sorted, size_t percent) {
  return sorted[(percent * sorted.size() + 99) / 100 - 1];
}

}  // namespace skewscope::summarize
