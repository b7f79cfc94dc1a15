#include "tracelens_cells.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace skewscope::test {

using nlohmann::json;

// One figure of `spread` per statistic; names as TraceLens', around `unit`.
void compare_spread(Comparison& comparison, const std::string& before, const TimeSpread& spread, double slack_ns) {
  const double n = static_cast<double>(spread.count);
  comparison.number(before + "_sum", static_cast<double>(spread.sum_ns) * kUs, n * slack_ns * kUs);
  comparison.number(before + "_mean", spread.mean_ns() * kUs, slack_ns * kUs);
  comparison.number(before + "_median", spread.median_ns * kUs, slack_ns * kUs);
  comparison.number(before + "_min", static_cast<double>(spread.min_ns) * kUs, slack_ns * kUs);
  comparison.number(before + "_max", static_cast<double>(spread.max_ns) * kUs, slack_ns * kUs);
  const std::optional<double> deviation = spread.count > 1 ? std::optional(spread.deviation_ns * kUs) : std::nullopt;
  comparison.number(before + "_std", deviation, slack_ns * kUs);
}

namespace {

// TraceLens' lists are sorted by sum, shortest first, then by name.
std::vector<KernelPosition> by_sum(std::vector<KernelPosition> kernels) {
  std::stable_sort(kernels.begin(), kernels.end(), [](const KernelPosition& a, const KernelPosition& b) {
    return std::tie(a.time.sum_ns, a.name) < std::tie(b.time.sum_ns, b.name);
  });
  return kernels;
}

}  // namespace

// Deviations in such lists have n as divisor, not n - 1.
void compare_positions(Comparison& comparison, const CsvRow& row, const std::string& column,
                       const std::vector<KernelPosition>& kernels) {
  const std::vector<KernelPosition> own = by_sum(kernels);
  const json expected = python_literal(row.at(column));
  comparison.same(column + " size", std::to_string(expected.size()), std::to_string(own.size()));
  for (size_t i = 0; i < std::min(expected.size(), own.size()); ++i) {
    const json& e = expected[i];
    const TimeSpread& time = own[i].time;
    const auto n = static_cast<double>(time.count);
    const auto figure = [&](const char* name, double ns) {
      if (std::abs(e.at(name).get<double>() - ns * kUs) <= 1e-6 + relative(ns * kUs)) return;
      comparison.same(column + " " + name, e.at(name).dump(), std::to_string(ns * kUs));
    };
    comparison.same(column + " name", e.at("name").get<std::string>(), own[i].name);
    comparison.same(column + " stream", e.at("stream").dump(), std::to_string(own[i].stream));
    comparison.same(column + " count", e.at("count").dump(), std::to_string(time.count));
    figure("total_duration_us", static_cast<double>(time.sum_ns));
    figure("mean_duration_us", time.mean_ns());
    figure("median_duration_us", time.median_ns);
    figure("std_dev_duration_us", n > 0 ? time.deviation_ns * std::sqrt((n - 1) / n) : 0);
    figure("min_duration_us", static_cast<double>(time.min_ns));
    figure("max_duration_us", static_cast<double>(time.max_ns));
  }
}

// The same list with names cut to 64 characters and means to two digits.
void compare_cut_positions(Comparison& comparison, const CsvRow& row, const std::vector<KernelPosition>& kernels) {
  const std::vector<KernelPosition> own = by_sum(kernels);
  const std::string& cell = row.at("trunc_kernel_details");
  const json expected = cell.empty() ? json::array() : python_literal(cell);
  comparison.same("trunc_kernel_details size", std::to_string(expected.size()), std::to_string(own.size()));
  for (size_t i = 0; i < std::min(expected.size(), own.size()); ++i) {
    const std::string cut = own[i].name.size() > 64 ? own[i].name.substr(0, 64) + "..." : own[i].name;
    comparison.same("trunc_kernel_details name", expected[i].at("name").get<std::string>(), cut);
    comparison.same("trunc_kernel_details stream", expected[i].at("stream").dump(), std::to_string(own[i].stream));
    const double mean_us = own[i].time.mean_ns() * kUs;
    if (std::abs(expected[i].at("mean_duration_us").get<double>() - mean_us) > 0.00501) {
      comparison.same("trunc_kernel_details mean", expected[i].at("mean_duration_us").dump(), std::to_string(mean_us));
    }
  }
}

}  // namespace skewscope::test
