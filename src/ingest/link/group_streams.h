// Which stream runs the collectives of which group, known by the orders of launches and kernels alone.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/base/time.h"

namespace skewscope::ingest {

struct GroupLaunch {
  LocalNs start;
  int32_t group = -1;  // from 0 on; -1: not known
};

struct StreamKernel {
  LocalNs start, end;
  int32_t stream = 0;  // from 0 on
};

// Per kernel, of those given by start.
struct KernelLaunches {
  std::vector<int32_t> launch;  // row of the launches; -1: launched before the first of them, or nothing tells
  std::vector<bool> is_open;    // nothing tells
};

// Both by start.
KernelLaunches launches_of_streams(const std::vector<GroupLaunch>& launches, const std::vector<StreamKernel>& kernels);

}  // namespace skewscope::ingest
