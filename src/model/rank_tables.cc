#include "skewscope/model/rank_tables.h"

#include <numeric>

namespace skewscope {
namespace {

template <class Row>
int64_t rows_of(const std::vector<Row>& table, int64_t Row::*count) {
  return std::accumulate(table.begin(), table.end(), int64_t{0},
                         [count](int64_t sum, const Row& row) { return sum + row.*count; });
}

}  // namespace

std::string check_invariants(const RankTables& tables) {
  int64_t rows = 0, on_devices = 0, in_steps = 0, orphans = 0;
  for (const TimelineRow& row : tables.timeline) {
    if (std::string wrong = check_invariants(row.timeline); !wrong.empty()) return wrong;
    const bool whole = row.device < 0 && row.step < 0 && row.place == StepPlace::step;
    (whole ? rows : row.device >= 0 ? on_devices : in_steps) += row.gpu_rows;
    if (whole) orphans = row.timeline.orphan_rows;
  }
  if (on_devices > 0 && on_devices != rows) return "rows of the devices do not sum to those of the trace";
  if (in_steps > rows) return "more rows in the steps than in the trace";
  if (rows_of(tables.streams, &StreamIdle::gpu_rows) != rows) return "rows of the streams do not sum to the trace's";
  if (rows_of(tables.kernels, &KernelTotals::count) != rows) return "rows by name do not sum to those of the trace";
  if (!tables.hlo_categories.empty()) {
    int64_t of_operations = 0;
    for (const HloCategoryRow& row : tables.hlo_categories) of_operations += row.operations > 0 ? row.gpu_rows : 0;
    if (rows_of(tables.hlo_categories, &HloCategoryRow::gpu_rows) != rows) {
      return "rows of the categories of operations do not sum to those of the trace";
    }
    if (rows_of(tables.hlo_operations, &HloOperationRow::gpu_rows) != of_operations) {
      return "rows of the operations do not sum to those of their categories";
    }
  }
  if (tables.launches.rows + orphans != rows) return "launched rows and orphans are not all";
  return "";
}

}  // namespace skewscope
