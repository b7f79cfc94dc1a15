// Every cell of the tables that TraceLens (0.1.0) wrote of four real traces, beside ours over linked rows. TraceLens
// calculates in doubles of microseconds: an end at 1e12 us is exact to 0.25 ns, so that each GPU row of a sum may be
// off by a nanosecond.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "../real_trace_folder.h"
#include "tracelens.h"

using namespace skewscope;
using namespace skewscope::test;
using nlohmann::json;

namespace {

constexpr double kUs = 1e-3;  // of a nanosecond
constexpr const char* kCumulative = "Cumulative Percentage (%)";
constexpr const char* kBefore = "Cumulative Percentage of the row before";

double relative(double value) { return std::abs(value) * 1e-6; }

// Literals compare by value: "((8, 16), ())" is "[[8, 16], []]"; an empty cell is what was not recorded.
std::string canonical(const std::string& text) {
  if (text.empty()) return "";
  const json from_python = python_literal(text);
  return from_python.is_discarded() ? text : from_python.dump();
}

bool recompute_of(const CsvRow& row) {
  const auto cell = row.find("is_recompute");
  return cell != row.end() && cell->second == "True";
}

std::string or_unknown(const std::string& text) { return text.empty() ? "Unknown" : text; }

std::string again(bool recompute) { return recompute ? " (again)" : ""; }

// Pairs expected rows with ours by name; compare(expected, ours) for each pair.
template <class Row, class NameOf, class ExpectedName, class Compare>
void compare_rows(Comparison& comparison, const std::string& table, const std::vector<Row>& rows, const NameOf& name_of,
                  const ExpectedName& expected_name, const Compare& compare) {
  std::map<std::string, const Row*> ours;
  for (const Row& row : rows) {
    INFO(table << ": two rows of one name " << name_of(row));
    CHECK(ours.emplace(name_of(row), &row).second);
  }
  std::vector<CsvRow> expected = comparison.expected(table);
  std::string cumulative = "0";
  for (CsvRow& row : expected) {
    if (row.count(kCumulative) > 0) {
      row[kBefore] = cumulative;
      cumulative = row[kCumulative];
    }
    const std::string name = expected_name(row);
    const auto own = ours.find(name);
    if (own == ours.end()) {
      comparison.missing(table, name, true);
      continue;
    }
    comparison.row(table, row, name);
    compare(row, *own->second);
    ours.erase(own);
  }
  if (expected.empty()) return;  // not made for this trace
  for (const auto& [name, row] : ours) comparison.missing(table, name, false);
}

// The sum of a row that has this share of the whole may be off by this much.
void compare_share(Comparison& comparison, const CsvRow& row, double share, int64_t sum_ns, double slack_ns) {
  const double whole_ns = share > 0 ? static_cast<double>(sum_ns) / share : 1;
  const double tolerance = 100 * slack_ns / whole_ns;
  comparison.number("Percentage (%)", share * 100, tolerance);
  comparison.number(kCumulative, std::stod(row.at(kBefore)) + share * 100, tolerance + 1e-9);
}

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

std::string python_list(const std::vector<std::string>& texts) { return json(texts).dump(); }

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

void compare_kernels(Comparison& comparison, const TraceLensView& view) {
  const std::vector<KernelSum> sums = kernel_sums(view);
  double whole_ns = 0;
  for (const KernelSum& sum : sums) whole_ns += static_cast<double>(sum.sum_ns);
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

std::string whole_number(const std::string& cell) { return cell.substr(0, cell.find('.')); }

void compare_collectives(Comparison& comparison, const TraceLensView& view) {
  constexpr double kMiB = 1 << 20;
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

void compare_all(const std::string& name, const std::string& file, int64_t unlinked_fills, int64_t custom_communication,
                 int64_t cells, const std::vector<Exception>& exceptions) {
  const std::string folder = traces("expected/tracelens/" + name), files = traces("single/tracelens");
  if (folder.empty() || files.empty()) return;
  const TraceLensView view = tracelens_view(files + "/" + file + ".json.gz");
  CHECK(view.unlinked_fills == unlinked_fills);
  CHECK(view.custom_communication == custom_communication);
  Comparison comparison(folder, exceptions);
  compare_timeline(comparison, view);
  compare_categories(comparison, view);
  compare_operators(comparison, view);
  compare_arguments(comparison, view);
  compare_kernels(comparison, view);
  compare_short_kernels(comparison, view);
  compare_collectives(comparison, view);
  compare_work(comparison, view);
  CHECK(comparison.cells() >= cells);
}

using Exceptions = std::vector<Exception>;

const char* const kNoModel = "TraceLens has no model of it";
const char* const kReduced = "TraceLens takes every reduction to give one element (reference, section 8)";
const char* const kInvented = "TraceLens counts rows that it made up after the last event";

Exceptions in_columns(const std::vector<std::string>& columns, const std::vector<std::string>& operators,
                      const std::string& reason) {
  Exceptions exceptions;
  for (const std::string& column : columns) {
    for (const std::string& name : operators) exceptions.push_back({"unified_perf_summary", column, name, reason});
  }
  return exceptions;
}

// Operators whose work only we know.
Exceptions only_ours(const std::vector<std::string>& operators) {
  return in_columns({"GFLOPS", "Data Moved", "FLOPS/Byte", "TB/s", "TFLOPS/s", "has_perf_model"}, operators, kNoModel);
}

Exceptions other_bytes(const std::vector<std::string>& operators, const std::string& reason) {
  return in_columns({"Data Moved", "FLOPS/Byte", "TB/s"}, operators, reason);
}

Exceptions joined(const std::vector<Exceptions>& lists) {
  Exceptions all;
  for (const Exceptions& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace

TEST_CASE("h100_qwen and mi300_qwen have TraceLens' tables") {
  for (const char* trace : {"h100_qwen", "mi300_qwen"}) {
    compare_all(trace, trace, 0, 0, 3000,
                joined({other_bytes({"aten::mean "}, kReduced),
                        only_ours({"aten::all ", "aten::cos ", "aten::sin ", "aten::eq "}),
                        in_columns({"Compute Spec"}, {"aten::cos ", "aten::sin "}, kNoModel)}));
  }
}

TEST_CASE("b200_vllm_eager has TraceLens' tables") {
  const std::vector<std::string> ours = {"_C::fused_add_rms_norm ", "_C::rotary_embedding ", "aten::fill_ ",
                                         "aten::masked_fill_ ", "_C::rms_norm "};
  compare_all(
      "b200_vllm_eager", "b200_rank0of8_vllm_eager", 0, 73, 3000,
      joined({{{"kernel_summary", "Parent op category", "cuLaunchKernelEx|",
                "one category per launcher: a call is `other`, as in TraceLens' own ops_summary"},
               {"coll_analysis", "row", "all_reduce|",
                "collectives of symmetric memory have no group in the trace; TraceLens drops what lacks a key"}},
              only_ours(ours),
              only_ours({"aten::sub "}),
              in_columns({"Compute Spec"}, ours, kNoModel),
              other_bytes({"\"bool\""}, "bool has no size in TraceLens (reference, section 8)"),
              in_columns({"has_perf_model"}, {"vllm::unified_attention_with_output "},
                         "TraceLens' model gives no figure: the shapes of paged attention are not recorded"),
              in_columns({"GFLOPS", "Data Moved", "TB/s", "TFLOPS/s", "has_perf_model"}, {"triton_poi_fused_add_"},
                         "TraceLens guesses the work of generated code by its name, with 0 bytes"),
              in_columns({"ex_UID"}, {"cuLaunchKernelEx->", "aten::index->"}, kInvented)}));
}

TEST_CASE("mi300_resnet_checkpoint has TraceLens' tables, told apart by what checkpointing runs again") {
  compare_all(
      "mi300_resnet_checkpoint", "mi300_rank0of8_resnet_checkpoint", 81, 0, 10000,
      joined({other_bytes({"aten::mean ", "aten::sum "}, kReduced),
              other_bytes({"aten::native_batch_norm_backward "},
                          "the saved statistics are float and both parameter gradients are written"),
              other_bytes({"aten::div "}, "an expanded dimension (stride 0) is read once, a scalar not at all"),
              in_columns({"GFLOPS", "TFLOPS/s", "Data Moved", "TB/s"}, {"[[10,64,112,112],[10,3,224,224],[64,3,7,7]"},
                         "output_mask wants no gradient of the input; TraceLens counts it all the same"),
              only_ours({"aten::fill_ "}), in_columns({"Compute Spec"}, {"aten::fill_ "}, kNoModel),
              in_columns({"row"}, {"aten::max_pool2d_with_indices_backward", "aten::fill_ "},
                         "the fill within has a row of its own, as its work is known to us"),
              in_columns({"ex_UID"}, {"aten::mse_loss->"}, kInvented)}));
}
