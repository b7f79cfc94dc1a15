// Tables of operators beside TraceLens'.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tracelens_cells.h"

namespace skewscope::test {

using nlohmann::json;

void compare_timeline(Comparison& comparison, const TraceLensView& view) {
  comparison.matched_by("gpu_timeline", {"type", "is_recompute"});
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
  comparison.matched_by("ops_summary_by_category", {"op category", "is_recompute"});
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
  comparison.matched_by("ops_summary", {"name", "is_recompute"});
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

void compare_arguments(Comparison& comparison, const TraceLensView& view) {
  comparison.matched_by("ops_unique_args", arguments_columns());
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

}  // namespace skewscope::test
