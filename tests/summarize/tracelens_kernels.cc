// Tables of GPU rows beside TraceLens'.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tracelens_rows.h"

namespace skewscope::test {

using nlohmann::json;

namespace {

struct KernelSum {
  std::string category, launcher, name;
  int32_t stream = -1;
  int64_t count = 0, sum_ns = 0, min_ns = 0, max_ns = 0;
};

// Kernels without their shapes; orphans from the table of all rows, the rest with TraceLens' categories.
std::vector<KernelSum> kernel_sums(const TraceLensView& view) {
  std::map<std::string, KernelSum> sums;
  const auto add = [&](const KernelRow& row) {
    KernelSum& sum = sums[row.category + "|" + row.launcher + "|" + row.name + "|" + std::to_string(row.stream)];
    if (sum.count == 0) sum = {row.category, row.launcher, row.name, row.stream, 0, 0, row.min_ns, 0};
    sum.count += row.count;
    sum.sum_ns += row.sum_ns;
    sum.min_ns = std::min(sum.min_ns, row.min_ns);
    sum.max_ns = std::max(sum.max_ns, row.max_ns);
  };
  for (const KernelRow& row : view.linked.kernels) {
    if (row.kernel) add(row);
  }
  for (KernelRow row : view.all.kernels) {
    row.category.clear();  // TraceLens has none for orphans
    if (row.kernel && row.launcher.empty()) add(row);
  }
  std::vector<KernelSum> list;
  for (auto& [key, sum] : sums) list.push_back(sum);
  return list;
}

}  // namespace

void compare_kernels(Comparison& comparison, const TraceLensView& view) {
  const std::vector<KernelSum> sums = kernel_sums(view);
  double whole_ns = 0;
  for (const KernelSum& sum : sums) whole_ns += static_cast<double>(sum.sum_ns);
  comparison.matched_by("kernel_summary", {"Parent cpu_op", "Kernel name", "Kernel stream"});
  compare_rows(
      comparison, "kernel_summary", sums,
      [](const KernelSum& row) { return row.launcher + "|" + row.name + "|" + std::to_string(row.stream); },
      [](const CsvRow& row) {
        return row.at("Parent cpu_op") + "|" + row.at("Kernel name") + "|" + row.at("Kernel stream");
      },
      [&](const CsvRow&, const KernelSum& own) {
        const auto sum = static_cast<double>(own.sum_ns);
        comparison.text("Parent op category", own.category);
        comparison.number("Kernel duration (µs)_sum", sum * kUs, 1e-6);
        comparison.number("Kernel duration (µs)_count", static_cast<double>(own.count), 0);
        comparison.number("Kernel duration (µs)_mean", sum / static_cast<double>(own.count) * kUs, 1e-6);
        comparison.number("Kernel duration (µs)_min", static_cast<double>(own.min_ns) * kUs, 1e-6);
        comparison.number("Kernel duration (µs)_max", static_cast<double>(own.max_ns) * kUs, 1e-6);
        comparison.number("Percent of kernels time (%)", 100 * sum / whole_ns, 1e-6);
        comparison.number("Percent of total time (%)", 100 * sum / static_cast<double>(view.timeline.total_ns), 1e-5);
      });
}

void compare_short_kernels(Comparison& comparison, const TraceLensView& view) {
  size_t bin = 0;
  for (const CsvRow& row : comparison.expected("short_kernel_histogram")) {
    REQUIRE(bin < view.all.short_bins.size());
    const ShortBin& own = view.all.short_bins[bin++];
    comparison.row("short_kernel_histogram", row, "bin " + std::to_string(bin));
    comparison.number("bin_start", own.from_ns * kUs, 1e-9);
    comparison.number("bin_end", own.to_ns * kUs, 1e-9);
    comparison.number("count", static_cast<double>(own.count), 0);
  }
  comparison.matched_by("short_kernels_summary",
                        {"Parent cpu_op", "Input dims", "Input strides", "Concrete Inputs", "Kernel name"});
  compare_rows(
      comparison, "short_kernels_summary", view.linked.short_kernels,
      [](const ShortKernelRow& row) {
        return row.launcher + canonical(row.arguments.dims) + canonical(row.arguments.strides) +
               canonical(row.arguments.values) + row.name;
      },
      [](const CsvRow& row) {
        return row.at("Parent cpu_op") + canonical(row.at("Input dims")) + canonical(row.at("Input strides")) +
               canonical(row.at("Concrete Inputs")) + row.at("Kernel name");
      },
      [&](const CsvRow&, const ShortKernelRow& own) {
        const auto sum = static_cast<double>(own.sum_ns);
        comparison.number("Short Kernel duration (µs) sum", sum * kUs, 1e-6);
        comparison.number("Short Kernel count", static_cast<double>(own.count), 0);
        comparison.number("Short Kernel duration (µs) mean", sum / static_cast<double>(own.count) * kUs, 1e-6);
        comparison.number("Short Kernel duration (µs) percent of total time",
                          100 * sum / static_cast<double>(view.timeline.total_ns), 1e-5);
      });
}

namespace {

std::string whole_number(const std::string& cell) { return cell.substr(0, cell.find('.')); }

}  // namespace

void compare_collectives(Comparison& comparison, const TraceLensView& view) {
  constexpr double kMiB = 1 << 20;
  comparison.matched_by("coll_analysis", {"Collective name", "dtype", "In msg nelems", "stream"});
  compare_rows(
      comparison, "coll_analysis", view.linked.collectives,
      [](const OwnCollectiveRow& row) {
        return row.name + "|" + row.dtype + "|" + std::to_string(row.in_elements) + "|" + std::to_string(row.stream);
      },
      [](const CsvRow& row) {
        return row.at("Collective name") + "|" + row.at("dtype") + "|" + whole_number(row.at("In msg nelems")) + "|" +
               row.at("stream");
      },
      [&](const CsvRow& row, const OwnCollectiveRow& own) {
        comparison.text("rank", std::to_string(view.rank));
        comparison.text("Process Group Name", own.group_name);
        comparison.same("Process Group Ranks", canonical(row.at("Process Group Ranks")), canonical(own.group_ranks));
        comparison.number("Group size", static_cast<double>(own.group_size), 0);
        comparison.number("Out msg nelems", static_cast<double>(own.out_elements), 0);
        comparison.text("In split size", own.in_split);
        comparison.text("Out split size", own.out_split);
        comparison.number("In msg size (MB)_first", static_cast<double>(own.in_bytes) / kMiB, 1e-9);
        comparison.number("Out msg size (MB)_first", static_cast<double>(own.out_bytes) / kMiB, 1e-9);
        comparison.number("dur_sum", static_cast<double>(own.time.sum_ns) * kUs, 1e-6);
        comparison.number("dur_mean", own.time.mean_ns() * kUs, 1e-6);
        comparison.number("dur_min", static_cast<double>(own.time.min_ns) * kUs, 1e-6);
        comparison.number("dur_max", static_cast<double>(own.time.max_ns) * kUs, 1e-6);
        comparison.number("dur_std", own.time.count > 1 ? std::optional(own.time.deviation_ns * kUs) : std::nullopt,
                          1e-6);
        comparison.number("operation_count", static_cast<double>(own.time.count), 0);
      });
}

}  // namespace skewscope::test
