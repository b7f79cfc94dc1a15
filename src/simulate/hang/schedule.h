// What each rank of a simulated job that will hang does, call by call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/simulate/hang.h"

namespace skewscope::simulate::hang {

enum class HangOp : uint8_t { all_reduce, reduce_scatter, all_gather, send, recv };

struct HangCall {
  HangOp op = HangOp::all_reduce;
  int32_t group = 0;  // of HangJob::groups
  int32_t peer = -1;  // of messages: place in the group
  int64_t elements = 0;
  bool synchronizes = false;  // the host waits for its end
};

struct HangGroupPlan {
  std::string description;
  std::vector<int32_t> ranks;
};

struct HangJob {
  std::vector<HangGroupPlan> groups;
  std::vector<std::vector<HangCall>> calls;     // by rank
  std::vector<std::vector<int32_t>> groups_of;  // by rank
  int32_t culprit = -1;
  size_t fault_at = 0;  // of the culprit's calls
};

// The job with its fault in the calls, where the fault is one of calls. A rank is named by `culprit` in any case.
HangJob hang_job(const SimulateHangOptions& options);

}  // namespace skewscope::simulate::hang
