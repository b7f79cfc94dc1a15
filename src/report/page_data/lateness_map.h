// Who arrived late, and when: rank x time in a bounded number of cells.
#pragma once

#include <optional>
#include <string>

#include "src/report/rows/timed_instances.h"

namespace skewscope::report {

constexpr size_t kMostMapColumns = 200, kMostMapCells = 200'000;

struct LatenessMap {
  struct Column {
    int64_t first = 0, last = 0;  // step numbers, or positions of instances in order of time
    int64_t start_ns = 0;         // first arrival in it
  };
  bool by_step = false;
  std::vector<Column> columns;
  std::vector<int32_t> ranks;                             // row = rank
  std::vector<std::vector<std::optional<int64_t>>> mean;  // [row][column], ns; none: no call
};

// A rank of a pipeline is compared with those of its stage alone.
LatenessMap lateness_map(const std::vector<JobReport::RankRow>& ranks, const std::vector<TimedInstance>& instances,
                         const JobReport::Pipeline& pipeline = {});

}  // namespace skewscope::report
