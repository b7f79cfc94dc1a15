// Tables of operators beside TraceLens'.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tracelens_rows.h"

namespace skewscope::test {

using nlohmann::json;

void compare_timeline(Comparison& comparison, const TraceLensView& view) {
  for (const CsvRow& row : comparison.expected("gpu_timeline")) {
    const bool split = row.count("is_recompute") > 0;
    const RankSummary& own = !split ? view.timeline : recompute_of(row) ? view.timeline_again : view.timeline_once;
    const std::map<std::string, int64_t> parts = {
        {"computation_time", own.compute_ns},
        {"exposed_comm_time", own.exposed_communication_ns},
        {"exposed_memcpy_time", own.exposed_memcpy_ns},
        {"busy_time", own.busy_ns},
        {"idle_time", own.idle_ns},
        {"total_time", own.total_ns},
        {"total_comm_time", own.communication_ns},
        {"total_memcpy_time", own.memcpy_ns},
    };
    comparison.row("gpu_timeline", row, row.at("type"));
    const auto ns = static_cast<double>(parts.at(row.at("type")));
    comparison.number("time ms", ns * 1e-6, 1e-6 * 400);  // 10 to 100 ns were seen over thousands of rows
    comparison.number("percent", 100 * ns / static_cast<double>(own.total_ns), 1e-3);
  }
}

void compare_categories(Comparison& comparison, const TraceLensView& view) {
  compare_rows(
      comparison, "ops_summary_by_category", view.linked.categories,
      [](const CategoryRow& row) { return row.category + again(row.recompute); },
      [](const CsvRow& row) { return row.at("op category") + again(recompute_of(row)); },
      [&](const CsvRow& row, const CategoryRow& own) {
        comparison.number("Count", static_cast<double>(own.count), 0);
        comparison.number("total_direct_kernel_time_ms", static_cast<double>(own.direct_ns) * 1e-6,
                          static_cast<double>(own.count) * 4e-6);
        compare_share(comparison, row, own.share, own.direct_ns, static_cast<double>(own.count) * 4);
      });
}

namespace {

std::string python_list(const std::vector<std::string>& texts) { return json(texts).dump(); }

}  // namespace

void compare_operators(Comparison& comparison, const TraceLensView& view) {
  std::vector<OperatorRow> launching;
  for (const OperatorRow& row : view.linked.operators) {
    if (row.launches > 0) launching.push_back(row);
  }
  compare_rows(
      comparison, "ops_summary", launching, [](const OperatorRow& row) { return row.name + again(row.recompute); },
      [](const CsvRow& row) { return row.at("name") + again(recompute_of(row)); },
      [&](const CsvRow& row, const OperatorRow& own) {
        const double tolerance_us = static_cast<double>(own.launches) * 4 * kUs;
        const auto direct = static_cast<double>(own.direct_ns), subtree = static_cast<double>(own.subtree_ns);
        comparison.number("total_direct_kernel_time_sum", direct * kUs, tolerance_us);
        comparison.number("total_subtree_kernel_time_sum", subtree * kUs, tolerance_us);
        comparison.number("total_direct_kernel_time_ms", direct * 1e-6, tolerance_us * 1e-3);
        comparison.number("total_subtree_kernel_time_ms", subtree * 1e-6, tolerance_us * 1e-3);
        comparison.number("Count", static_cast<double>(own.launches), 0);
        comparison.same("Categories", canonical(row.at("Categories")), python_list(own.categories));
        compare_share(comparison, row, own.share, own.direct_ns, static_cast<double>(own.launches) * 4);
      });
}

namespace {

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

// TraceLens' lists are sorted by sum, shortest first, then by name.
std::vector<KernelPosition> by_sum(std::vector<KernelPosition> kernels) {
  std::stable_sort(kernels.begin(), kernels.end(), [](const KernelPosition& a, const KernelPosition& b) {
    return std::tie(a.time.sum_ns, a.name) < std::tie(b.time.sum_ns, b.name);
  });
  return kernels;
}

// Of the deviations in such lists n is the divisor, not n - 1.
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
  const json expected = python_literal(row.at("trunc_kernel_details"));
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

template <class Row>
std::string arguments_name(const Row& row) {
  return row.name + again(row.recompute) + " " + row.category + " " + or_unknown(row.process_name) + " " +
         or_unknown(row.process_label) + " " + or_unknown(row.thread_name) + " " + canonical(row.arguments.dims) +
         canonical(row.arguments.types) + canonical(row.arguments.strides) + canonical(row.arguments.values);
}

std::string expected_arguments_name(const CsvRow& row) {
  return row.at("name") + again(recompute_of(row)) + " " + row.at("op category") + " " + row.at("process_name") + " " +
         row.at("process_label") + " " + row.at("thread_name") + " " + canonical(row.at("Input Dims")) +
         canonical(row.at("Input type")) + canonical(row.at("Input Strides")) + canonical(row.at("Concrete Inputs"));
}

}  // namespace

void compare_arguments(Comparison& comparison, const TraceLensView& view) {
  compare_rows(comparison, "ops_unique_args", view.linked.arguments, arguments_name<ArgumentsRow>,
               expected_arguments_name, [&](const CsvRow& row, const ArgumentsRow& own) {
                 const double slack_ns = 1 + static_cast<double>(own.kernels.size());
                 comparison.number("operation_count", static_cast<double>(own.direct.count), 0);
                 compare_spread(comparison, "total_direct_kernel_time", own.direct, slack_ns);
                 compare_spread(comparison, "total_subtree_kernel_time", own.subtree, slack_ns);
                 comparison.number("ex_UID", own.first_place, 0);
                 compare_positions(comparison, row, "kernel_details_summary", own.kernels);
                 compare_cut_positions(comparison, row, own.kernels);
                 compare_share(comparison, row, own.share, own.direct.sum_ns,
                               static_cast<double>(own.direct.count) * slack_ns);
               });
}

namespace {

void compare_rates(Comparison& comparison, const std::string& unit, int64_t done, const WorkRow& own, double slack) {
  const auto cell = [&](double per_second) {
    return done < 0 || own.per_second.max == 0 ? std::nullopt
                                               : std::optional(static_cast<double>(done) * per_second * 1e-12);
  };
  const double tolerance = static_cast<double>(done) * own.per_second.max * 1e-12 * slack;
  comparison.number(unit + "_mean", cell(own.per_second.mean), tolerance);
  comparison.number(unit + "_median", cell(own.per_second.median), tolerance);
  comparison.number(unit + "_min", cell(own.per_second.min), tolerance);
  comparison.number(unit + "_max", cell(own.per_second.max), tolerance);
  comparison.number(unit + "_std", own.gpu.count > 1 ? cell(own.per_second.deviation) : std::nullopt, tolerance);
}

void compare_work_figures(Comparison& comparison, const WorkRow& own) {
  const auto known = [](int64_t value, double per) {
    return value < 0 ? std::nullopt : std::optional(static_cast<double>(value) / per);
  };
  comparison.number("GFLOPS", known(own.flops, 1e9), 1e-12);
  comparison.number("Data Moved (MB)", known(own.bytes, 1 << 20), 1e-9);
  const bool both = own.flops >= 0 && own.bytes > 0;
  const double intensity = both ? static_cast<double>(own.flops) / static_cast<double>(own.bytes) : 0;
  comparison.number("FLOPS/Byte", both ? std::optional(intensity) : std::nullopt, relative(intensity));
  // TraceLens names no precision for integers.
  const bool spec = !own.precision.empty() && own.precision != "unknown" && own.precision != "integer";
  comparison.text("Compute Spec", spec ? own.compute + "_" + own.precision : "");
  // A nanosecond of the shortest instance.
  const double slack =
      own.gpu.min_ns > 0 ? (1.0 + static_cast<double>(own.kernels.size())) / static_cast<double>(own.gpu.min_ns) : 1;
  compare_rates(comparison, "TB/s", own.bytes, own, slack);
  compare_rates(comparison, "TFLOPS/s", own.flops, own, slack);
}

}  // namespace

void compare_work(Comparison& comparison, const TraceLensView& view) {
  compare_rows(
      comparison, "unified_perf_summary", view.linked.work,
      [](const WorkRow& row) {
        WorkRow named = row;
        if (row.leftover) named.name += " (Synthetic Op)";
        return arguments_name(named);
      },
      expected_arguments_name,
      [&](const CsvRow& row, const WorkRow& own) {
        const double slack_ns = 1 + static_cast<double>(own.kernels.size());
        comparison.number("operation_count", static_cast<double>(own.gpu.count), 0);
        comparison.number("ex_UID", own.first_place, 0);
        compare_spread(comparison, "Kernel Time (µs)", own.gpu, slack_ns);
        const auto host = [&](const char* column, double ns) { comparison.number(column, ns * kUs, 1e-6); };
        host("total_duration_us", static_cast<double>(own.host.sum_ns));
        host("mean_duration_us", own.host.mean_ns());
        host("duration_us_median", own.host.median_ns);
        host("duration_us_min", static_cast<double>(own.host.min_ns));
        host("duration_us_max", static_cast<double>(own.host.max_ns));
        comparison.number("std_duration_us",
                          own.host.count > 1 ? std::optional(own.host.deviation_ns * kUs) : std::nullopt, 1e-5);
        compare_work_figures(comparison, own);
        compare_positions(comparison, row, "kernel_details_summary", own.kernels);
        compare_cut_positions(comparison, row, own.kernels);
        comparison.text("has_perf_model", own.known_operator ? "True" : "False");
        compare_share(comparison, row, own.share, own.gpu.sum_ns, static_cast<double>(own.gpu.count) * slack_ns);
      });
}

// GEMM, CONV_fwd, …: rows there are sets of parameters, which several sets of arguments share, and every run of an
// operator counts, also within another one. So what is compared is the sum of each operator.
void compare_modelled(Comparison& comparison, const TraceLensView& view) {
  std::map<std::string, std::pair<double, double>> ours;  // calls and GPU time, us
  for (const OperatorRow& row : view.linked.operators) {
    ours[row.name + again(row.recompute)] = {static_cast<double>(row.calls),
                                             static_cast<double>(row.device_total_ns) * kUs};
  }
  for (const char* table : {"GEMM", "CONV_fwd", "CONV_bwd", "SDPA_fwd", "UnaryElementwise", "BinaryElementwise",
                            "Reduce_fwd", "Reduce_bwd", "Normalization"}) {
    std::map<std::string, CsvRow> sums;
    for (const CsvRow& row : comparison.expected(table)) {
      CsvRow& sum = sums[row.at("name") + again(recompute_of(row))];
      for (const char* column : {"name_count", "Kernel Time (µs)_sum"}) {
        const std::string& before = sum[column];
        sum[column] = std::to_string((before.empty() ? 0 : std::stod(before)) + std::stod(row.at(column)));
      }
    }
    for (const auto& [name, sum] : sums) {
      const auto [calls, gpu_us] = ours[name];
      comparison.row(table, sum, name);
      comparison.number("name_count", calls, 0);
      comparison.number("Kernel Time (µs)_sum", gpu_us, 4 * calls * kUs);
    }
  }
}

}  // namespace skewscope::test
