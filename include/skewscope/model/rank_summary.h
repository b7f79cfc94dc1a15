// Data: one trace's GPU timeline. Unions of intervals, exact in ns; the parts sum to the window:
//   compute + exposed_communication + exposed_memcpy + idle = total
// Definitions as TraceLens' gpu_timeline: fills are computation, copies exposed only where neither computation nor
// communication runs. All devices of a trace pooled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/model/job_trace.h"

namespace skewscope {

// Gaps of the busy time that are shorter are micro idle, the others macro idle.
constexpr int64_t kMicroIdleNs = 10'000;
// A launched row that starts within this of the end of what ran before kept nobody waiting but itself (HTA).
constexpr int64_t kKernelWaitNs = 30'000;

struct RankSummary {
  int64_t total_ns = 0;  // last end - first start of the GPU rows, and of the host's calls next to them
  int64_t compute_ns = 0;
  int64_t communication_ns = 0;
  int64_t memcpy_ns = 0;
  int64_t exposed_communication_ns = 0;
  int64_t exposed_memcpy_ns = 0;
  int64_t busy_ns = 0;
  int64_t idle_ns = 0;
  int64_t micro_idle_ns = 0;  // of it, in gaps shorter than kMicroIdleNs
  // Parts of the idle time, by what ended the gap: a row whose launch began after the gap did; a row that was launched
  // in time and started within kKernelWaitNs. The rest has another cause: a dependency, or the device was taken.
  int64_t idle_host_wait_ns = 0, idle_kernel_wait_ns = 0;
  int64_t orphan_rows = 0;  // GPU rows without a launch in the trace; kept in all figures
  int64_t orphan_ns = 0;
};

std::string check_invariants(const RankSummary& summary);

}  // namespace skewscope
