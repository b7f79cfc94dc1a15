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
  const int64_t rows = tables.whole.gpu_rows;
  if (std::string wrong = check_invariants(tables.whole.timeline); !wrong.empty()) return wrong;
  for (const auto* timelines : {&tables.devices, &tables.steps}) {
    for (const TimelineRow& row : *timelines) {
      if (std::string wrong = check_invariants(row.timeline); !wrong.empty()) return wrong;
    }
  }
  if (!tables.devices.empty() && rows_of(tables.devices, &TimelineRow::gpu_rows) != rows) {
    return "rows of the devices do not sum to those of the trace";
  }
  if (rows_of(tables.steps, &TimelineRow::gpu_rows) > rows) return "more rows in the steps than in the trace";
  if (rows_of(tables.streams, &StreamIdle::gpu_rows) != rows) return "rows of the streams do not sum to the trace's";
  if (rows_of(tables.kernels, &KernelTotals::count) != rows) return "rows by name do not sum to those of the trace";
  if (tables.launches.rows + tables.whole.timeline.orphan_rows != rows) return "launched rows and orphans are not all";
  return "";
}

}  // namespace skewscope
