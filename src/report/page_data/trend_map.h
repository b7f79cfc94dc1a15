// Table trend as a picture: rank x window.
#pragma once

#include <optional>
#include <vector>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

// As many cells as the table has room for rows (src/report/rows/collective_rows.cc).
struct TrendMap {
  struct Column {
    int64_t start_ns = 0, duration_ns = 0;
    int32_t session = 0;
  };
  std::vector<Column> columns;                              // by session, then time
  std::vector<int32_t> ranks;                               // row = rank
  std::vector<std::vector<std::optional<TrendRow>>> cells;  // [row][column]; none: no call of the rank
};

TrendMap trend_map(const std::vector<TrendRow>& trend);

}  // namespace skewscope::report
