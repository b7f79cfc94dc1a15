// Room: the tables of one GPU's trace, from its GPU rows and launches; exact, in integer nanoseconds. Definitions as
// the peers' (TraceLens gpu_timeline, HTA idle breakdown, launch statistics and queue length); rows without a launch
// ("orphans") count wherever a launch is not what is counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/model/rank_summary.h"

namespace skewscope {

// The timeline of the rows that one device ran, or that were launched in one step.
struct TimelineRow {
  int32_t device = -1;   // -1: all devices of the trace
  int64_t step = -1;     // ProfilerStep#N of the launch; -1: the whole trace
  int64_t host_ns = -1;  // of the step on the host; -1: no step
  int64_t gpu_rows = 0;
  RankSummary timeline;  // its window is that of these rows
};

// Gaps of one stream, by what the stream waited for: the host had not launched yet (launch after the running maximum of
// ends), the next row was launched but did not start within 30 us (`other`: a dependency, or the device was taken), or
// did (`kernel`). An orphan never waits for the host.
struct StreamIdle {
  int32_t device = -1, stream = -1;
  int64_t gpu_rows = 0;
  int64_t busy_ns = 0;  // union of its rows
  int64_t host_wait_ns = 0, kernel_wait_ns = 0, other_ns = 0;
};

// Rows launched but not yet started, of one stream: up at the start of the host call, down at the start of the row.
struct QueueDepth {
  int32_t device = -1, stream = -1;
  int64_t changes = 0;    // points at which it changes
  int64_t depth_sum = 0;  // of the depths after each change
  int32_t deepest = 0;
  int64_t full_ns = 0;  // with 1024 rows or more: the queue of the device is full and the host blocks
};

// Over the GPU rows that have a launch in the trace.
struct LaunchTotals {
  int64_t rows = 0;
  int64_t host_ns = 0;   // sum of the host calls
  int64_t gpu_ns = 0;    // sum of the rows
  int64_t delay_ns = 0;  // sum of max(0, start of the row - end of the call)
  int64_t longest_delay_ns = 0;
  int64_t short_rows = 0;   // call of 50 us or less, longer than the row it launched
  int64_t slow_calls = 0;   // call of more than 50 us
  int64_t late_starts = 0;  // delay of more than 100 us
};

// All rows of one name.
struct KernelTotals {
  std::string name;
  GpuWork work = GpuWork::compute;
  int64_t count = 0;
  int64_t total_ns = 0, shortest_ns = 0, longest_ns = 0;
  double deviation_ns = 0;  // standard deviation of the sample (n - 1); 0 for one row

  double mean_ns() const { return count == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(count); }
};

struct RankTables {
  std::vector<TimelineRow> timeline;  // the trace; its devices where there are several; its steps
  std::vector<StreamIdle> streams;    // sorted by (device, stream)
  std::vector<QueueDepth> queues;     // the same
  LaunchTotals launches;
  std::vector<KernelTotals> kernels;  // longest total first, then by name
};

// Empty when the parts of every table sum up; else the first that does not, in words.
std::string check_invariants(const RankTables& tables);

}  // namespace skewscope
