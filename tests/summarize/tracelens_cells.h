// Cells that several of TraceLens' tables have.
#pragma once

#include "tracelens_rows.h"

namespace skewscope::test {

// One column per statistic: BEFORE_sum, BEFORE_mean, …
void compare_spread(Comparison& comparison, const std::string& before, const TimeSpread& spread, double slack_ns);

// The list of what stood at each position among the GPU rows of an instance, as written in full and cut short.
void compare_positions(Comparison& comparison, const CsvRow& row, const std::string& column,
                       const std::vector<KernelPosition>& kernels);
void compare_cut_positions(Comparison& comparison, const CsvRow& row, const std::vector<KernelPosition>& kernels);

// The columns of the names under which rows of equal arguments find each other, and these names.
inline std::vector<std::string> arguments_columns() {
  return {"name",        "is_recompute", "op category", "process_name",  "process_label",
          "thread_name", "Input Dims",   "Input type",  "Input Strides", "Concrete Inputs"};
}
template <class Row>
std::string arguments_name(const Row& row) {
  return row.name + again(row.recompute) + " " + row.category + " " + or_unknown(row.process_name) + " " +
         or_unknown(row.process_label) + " " + or_unknown(row.thread_name) + " " + canonical(row.arguments.dims) +
         canonical(row.arguments.types) + canonical(row.arguments.strides) + canonical(row.arguments.values);
}

inline std::string expected_arguments_name(const CsvRow& row) {
  return row.at("name") + again(recompute_of(row)) + " " + row.at("op category") + " " + row.at("process_name") + " " +
         row.at("process_label") + " " + row.at("thread_name") + " " + canonical(row.at("Input Dims")) +
         canonical(row.at("Input type")) + canonical(row.at("Input Strides")) + canonical(row.at("Concrete Inputs"));
}

}  // namespace skewscope::test
