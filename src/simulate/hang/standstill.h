// Runs a job until nothing goes on: hosts launch ahead to their next synchronization, each GPU runs its calls in order,
// and a call ends when all its members are in it.
#pragma once

#include <cstdint>
#include <vector>

#include "src/simulate/hang/schedule.h"

namespace skewscope::simulate::hang {

struct RanCall {
  int64_t created_ns = -1, started_ns = -1, completed_ns = -1;  // -1: did not happen
};

struct Standstill {
  std::vector<std::vector<RanCall>> calls;  // by rank; as many as its host launched
  int64_t end_ns = 0;
};

Standstill run_until_still(const HangJob& job, const SimulateHangOptions& options);

}  // namespace skewscope::simulate::hang
