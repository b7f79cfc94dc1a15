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

}  // namespace skewscope::summarize
