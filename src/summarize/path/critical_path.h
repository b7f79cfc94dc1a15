// The critical path of each step, by kind and by name.
#pragma once

#include <vector>

#include "src/summarize/operators/operator_view.h"

namespace skewscope::summarize {

// What one path covers.
struct PathWindow {
  int64_t step = -1;
  LocalNs start, end;
  int32_t gpu_row = -1;  // it ends with this row of GpuEvents; -1: on the host
  int32_t thread = -1;   // of the step's range, in RankDetail::threads
};

// Those of the steps, disjoint; of the trace where it has none. Empty where nothing was recorded.
std::vector<PathWindow> path_windows(const OperatorView& view, int32_t busiest_thread);
void add_critical_path(const OperatorView& view, OperatorTables& tables);

}  // namespace skewscope::summarize
