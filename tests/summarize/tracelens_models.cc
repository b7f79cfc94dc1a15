// Tables of operators' work beside TraceLens'.
#include <catch2/catch.hpp>
#include <cmath>

#include "tracelens_cells.h"
#include "tracelens_parameters.h"

namespace skewscope::test {

using nlohmann::json;

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

// `suffix`: of the columns' names.
void compare_work_figures(Comparison& comparison, const WorkRow& own, const std::string& suffix) {
  const auto known = [](int64_t value, double per) {
    return value < 0 ? std::nullopt : std::optional(static_cast<double>(value) / per);
  };
  comparison.number("GFLOPS" + suffix, known(own.flops, 1e9), 1e-12);
  comparison.number("Data Moved (MB)" + suffix, known(own.bytes, 1 << 20), 1e-9);
  const bool both = own.flops >= 0 && own.bytes > 0;
  const double intensity = both ? static_cast<double>(own.flops) / static_cast<double>(own.bytes) : 0;
  comparison.number("FLOPS/Byte" + suffix, both ? std::optional(intensity) : std::nullopt, relative(intensity));
  // TraceLens names no precision for integers.
  const bool spec = !own.precision.empty() && own.precision != "unknown" && own.precision != "integer";
  comparison.text("Compute Spec", spec ? own.compute + "_" + own.precision : "");
  // A nanosecond of the shortest instance.
  const double slack =
      own.gpu.min_ns > 0 ? (1.0 + static_cast<double>(own.kernels.size())) / static_cast<double>(own.gpu.min_ns) : 1;
  compare_rates(comparison, "TB/s", own.bytes, own, slack);
  compare_rates(comparison, "TFLOPS/s", own.flops, own, slack);
}

double slack_ns_of(const WorkRow& own) { return 1 + static_cast<double>(own.kernels.size()); }

// Each parameter that either side has.
void compare_parameters(Comparison& comparison, const std::string& before, const TraceLensParameters& expected,
                        const TraceLensParameters& own) {
  TraceLensParameters all = expected;
  all.insert(own.begin(), own.end());
  for (const auto& [name, value] : all) {
    const auto e = expected.find(name), o = own.find(name);
    comparison.same(before + name, e == expected.end() ? "none" : e->second.dump(),
                    o == own.end() ? "none" : o->second.dump());
  }
}

// What a cell says; a text that is no Python literal is itself.
json cell_value(const std::string& cell) {
  if (cell.empty()) return nullptr;
  json value = python_literal(cell);
  return value.is_discarded() ? json(cell) : value;
}

}  // namespace

void compare_work(Comparison& comparison, const TraceLensView& view) {
  comparison.matched_by("unified_perf_summary", arguments_columns());
  compare_rows(
      comparison, "unified_perf_summary", view.linked.work,
      [](const WorkRow& row) {
        WorkRow named = row;
        if (row.leftover) named.name += " (Synthetic Op)";
        return arguments_name(named);
      },
      expected_arguments_name,
      [&](const CsvRow& row, const WorkRow& own) {
        comparison.number("operation_count", static_cast<double>(own.gpu.count), 0);
        comparison.number("ex_UID", own.first_place, 0);
        compare_spread(comparison, "Kernel Time (µs)", own.gpu, slack_ns_of(own));
        const auto host = [&](const char* column, double ns) { comparison.number(column, ns * kUs, 1e-6); };
        host("total_duration_us", static_cast<double>(own.host.sum_ns));
        host("mean_duration_us", own.host.mean_ns());
        host("duration_us_median", own.host.median_ns);
        host("duration_us_min", static_cast<double>(own.host.min_ns));
        host("duration_us_max", static_cast<double>(own.host.max_ns));
        comparison.number("std_duration_us",
                          own.host.count > 1 ? std::optional(own.host.deviation_ns * kUs) : std::nullopt, 1e-5);
        compare_work_figures(comparison, own, "");
        compare_positions(comparison, row, "kernel_details_summary", own.kernels);
        compare_cut_positions(comparison, row, own.kernels);
        comparison.text("has_perf_model", own.known_operator ? "True" : "False");
        TraceLensParameters expected;
        const json cell = cell_value(row.at("perf_params"));
        for (const auto& [name, value] : cell.items()) {
          if (!value.is_null()) expected[name] = value;
        }
        compare_parameters(comparison, "perf_params ", expected,
                           own.known_operator ? tracelens_parameters(own.name, own.arguments) : TraceLensParameters());
        compare_share(comparison, row, own.share, own.gpu.sum_ns,
                      static_cast<double>(own.gpu.count) * slack_ns_of(own));
      });
}

namespace {

// Parameters that a listed mistake of TraceLens' changes: rows find each other without these.
bool tells_row(const std::string& parameter) {
  return parameter != "num_output_elems" && parameter != "bias" && parameter != "output_mask" &&
         parameter != "transpose";
}

std::string row_name(const std::string& name, bool recompute, const TraceLensParameters& parameters) {
  std::string text = name + again(recompute);
  for (const auto& [parameter, value] : parameters) {
    if (tells_row(parameter)) text += " " + parameter + "=" + value.dump();
  }
  return text;
}

TraceLensParameters expected_parameters(const CsvRow& row) {
  const std::string kBegin = "param: ";
  TraceLensParameters parameters;
  for (const auto& [column, cell] : row) {
    if (column.rfind(kBegin, 0) == 0 && !cell.empty()) parameters[column.substr(kBegin.size())] = cell_value(cell);
  }
  return parameters;
}

void compare_modelled_row(Comparison& comparison, const CsvRow& row, const ModelledRow& modelled) {
  const WorkRow& own = modelled.work;
  compare_parameters(comparison, "param: ", expected_parameters(row), modelled.parameters);
  for (const auto& [column, cell] : row) {
    if (column.rfind("param: ", 0) == 0 && cell.empty()) comparison.same(column, "", "");  // neither has it
  }
  comparison.number("name_count", static_cast<double>(own.gpu.count), 0);
  comparison.number("UID_first", own.first_place, 0);
  compare_spread(comparison, "Kernel Time (µs)", own.gpu, slack_ns_of(own));
  compare_work_figures(comparison, own, "_first");
  comparison.text("process_name_first", or_unknown(own.process_name));
  comparison.text("process_label_first", or_unknown(own.process_label));
  comparison.text("thread_name_first", or_unknown(own.thread_name));
  const auto literal = [&](const char* column, const std::string& text) {
    comparison.same(column, canonical(row.at(column)), canonical(text));
  };
  literal("Input Dims_first", own.arguments.dims);
  literal("Input type_first", own.arguments.types);
  literal("Input Strides_first", own.arguments.strides);
  literal("Concrete Inputs_first", own.arguments.values);
  compare_positions(comparison, row, "kernel_details__summarize_kernel_stats", own.kernels);
  compare_cut_positions(comparison, row, own.kernels);
}

}  // namespace

void compare_modelled(Comparison& comparison, const TraceLensView& view) {
  for (const char* table : {"GEMM", "CONV_fwd", "CONV_bwd", "SDPA_fwd", "UnaryElementwise", "BinaryElementwise",
                            "Reduce_fwd", "Reduce_bwd", "Normalization"}) {
    std::vector<ModelledRow> rows;
    for (const ModelledRow& row : view.modelled) {
      if (row.table == table) rows.push_back(row);
    }
    comparison.matched_by(table, {"name", "is_recompute"});
    compare_rows(
        comparison, table, rows,
        [](const ModelledRow& row) { return row_name(row.work.name, row.work.recompute, row.parameters); },
        [](const CsvRow& row) { return row_name(row.at("name"), recompute_of(row), expected_parameters(row)); },
        [&](const CsvRow& row, const ModelledRow& own) { compare_modelled_row(comparison, row, own); });
  }
}

}  // namespace skewscope::test
