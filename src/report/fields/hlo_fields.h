// The rows of one trace's tables about the operations of compiled programs (HLO of XLA), described once.
#pragma once

#include <optional>

#include "field.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope::report {

inline std::optional<double> hlo_rate(double amount, int64_t ns) {
  if (amount < 0 || ns <= 0) return std::nullopt;
  return amount / static_cast<double>(ns) * 1e9;
}

struct HloOperationFields {
  using Row = HloOperationRow;
  template <auto Amount>
  static std::optional<double> rate(const Row& row) {
    return hlo_rate(static_cast<double>(row.*Amount) * static_cast<double>(row.executions), row.total_ns);
  }
  static constexpr About kAbout = {"hlo_operations", "hlo_operations",
                                   "GPU rows of one operation (HLO) of a program that XLA compiled; none where no "
                                   "row says of which it is"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::name>("name", "of the operation"),
      text<&Row::category>("category", "as XLA calls it; null: the trace does not hold the program"),
      text<&Row::module>("module", "the program that it is of"), text<&Row::program>("program", "the program's number"),
      field<&Row::executions>("executions", "rows of that of its kernels that ran most often"),
      field<&Row::gpu_rows>("gpu_rows", "an execution may launch several"),
      field<&Row::total_ns>("total_ns", "sum of the rows"), field<&Row::shortest_ns>("shortest_ns", "the shortest row"),
      field<&Row::longest_ns>("longest_ns", "the longest row"),
      known<&Row::flops>("flops", "floating-point operations of an execution, as XLA says"),
      known<&Row::bytes>("bytes", "an execution reads and writes, as XLA says"),
      known<&Row::input_bytes>("input_bytes", "of an execution's operands, by their shapes in the program"),
      unless_none<&rate<&Row::flops>>("flops_per_s", "flops of all executions over the time of the rows"),
      unless_none<&rate<&Row::bytes>>("bytes_per_s", "bytes of all executions over the time of the rows"),
      field<&Row::share>("share", "of the time of all GPU rows"),
      field<&Row::cumulative_share>("cumulative_share", "of this row and those before it"));
};

struct HloCategoryFields {
  using Row = HloCategoryRow;
  template <auto Amount>
  static std::optional<double> rate(const Row& row) {
    return hlo_rate(static_cast<double>(row.*Amount), row.total_ns);
  }
  static constexpr About kAbout = {"hlo_categories", "hlo_categories",
                                   "operations (HLO) of one category, as XLA calls it; rows sum to the trace"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::category>("category", "null: not known, or rows of no operation: copies, the runtime's own"),
      field<&Row::operations>("operations", "operations of the category; 0: these rows are of none"),
      field<&Row::executions>("executions", "of these operations"), field<&Row::gpu_rows>("gpu_rows", "the GPU rows"),
      field<&Row::total_ns>("total_ns", "their sum"),
      known<&Row::flops>("flops", "of all executions; null: not known of one of them"),
      known<&Row::bytes>("bytes", "of all executions; null: not known of one of them"),
      unless_none<&rate<&Row::flops>>("flops_per_s", "flops over the time of the rows"),
      unless_none<&rate<&Row::bytes>>("bytes_per_s", "bytes over the time of the rows"),
      field<&Row::share>("share", "of the time of all GPU rows"),
      field<&Row::cumulative_share>("cumulative_share", "of this row and those before it"));
};

}  // namespace skewscope::report
