// Data: what each step's time went to, GPU and host in one row, as tb_plugin's execution summary has it: every
// nanosecond of the step under the first part that applies, so that the parts sum to its length. A step is cut as the
// critical path cuts it (model/critical_path.h).
#pragma once

#include <cstdint>

namespace skewscope {

// In the order in which they apply.
enum class ExecutionPart : uint8_t {
  kernel,         // kernels ran that compute
  copy,           // copies ran
  fill,           // fills ran
  communication,  // communication ran
  runtime,        // a call of the runtime or driver ran
  data_loader,    // the thread of the step was in its data loader
  host_operator,  // an operator ran on the host
  other,          // none of these: Python, other libraries
};
constexpr size_t kExecutionParts = 8;

struct ExecutionRow {
  int64_t step = -1;  // N of ProfilerStep#N; -1: the trace, which has no steps
  int64_t length_ns = 0;
  int64_t parts_ns[kExecutionParts] = {};
  // On the thread of the step, hidden or not: parts_ns[data_loader] at least.
  int64_t in_data_loader_ns = 0;

  int64_t part_ns(ExecutionPart part) const { return parts_ns[static_cast<size_t>(part)]; }
};

}  // namespace skewscope
