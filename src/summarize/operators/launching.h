// Instances: one run of a launcher, with the GPU rows it launched.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "operator_view.h"

namespace skewscope::summarize {

struct LaunchingInstance {
  int32_t host_row = -1;  // -1: an orphan, alone
  int64_t direct_ns = 0, subtree_ns = 0;
  size_t first = 0, count = 0;  // its own rows in LaunchingInstances::gpu_rows
  std::string_view category;
};

struct LaunchingInstances {
  std::vector<LaunchingInstance> items;  // sorted by start (of an orphan: of its GPU row), then place
  std::vector<int32_t> gpu_rows;         // per instance in the order of the trace file
};

// Per row of GpuEvents: the category of its launcher, by the first row (in the trace file) that this launched.
std::vector<std::string_view> launcher_categories(const OperatorView& view);

// Without communication rows, but these count in subtree times. Orphans unless linked_only.
LaunchingInstances launching_instances(const OperatorView& view);

}  // namespace skewscope::summarize
