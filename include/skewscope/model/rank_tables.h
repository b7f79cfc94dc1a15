// Data: the tables of one GPU's trace, from its GPU rows, its launches and, where they were read, the details of both;
// exact, in integer nanoseconds. Definitions as the peers' (TraceLens gpu_timeline, HTA idle breakdown, launch
// statistics and queue length, tb_plugin's GPU utilisation); rows without a launch ("orphans") count wherever a launch
// is not what is counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/model/rank_detail.h"
#include "skewscope/model/rank_summary.h"
#include "skewscope/model/step_spans.h"

namespace skewscope {

// The timeline of the rows that one device ran, or of one step as it ran on the GPU (model/step_spans.h), or of what is
// in no step. Steps and what is in none sum to the whole trace.
struct TimelineRow {
  int32_t device = -1;                // -1: all devices of the trace
  int64_t step = -1;                  // N of ProfilerStep#N; -1: the whole trace, or in no step
  int64_t host_ns = -1;               // of the step on the host; -1: no step
  int64_t gpu_rows = 0;               // of a step: launched in it
  int64_t profiler_idle_ns = -1;      // of the idle time, while the profiler refilled its buffers; -1: without details
  RankSummary timeline;               // its window is that of these rows; of a step, the step
  StepPlace place = StepPlace::step;  // else what is in no step, before, between or after the steps
};

// One of at most 400 equal parts of the trace's window; parts sum to its length.
struct TimelineBin {
  int64_t start_ns = 0;  // since RankTrace::first_event
  RankSummary timeline;
};

// A sample, as pandas describes it: deviation of the sample (n - 1), quartiles interpolated.
struct Distribution {
  int64_t count = 0;
  double mean = 0, deviation = 0, least = 0, quartile_1 = 0, median = 0, quartile_3 = 0, most = 0;
};

// Time in which just these kinds of work ran.
struct WorkTogether {
  bool compute = false, communication = false, memcpy = false, memset = false;
  int64_t time_ns = 0;
};

// Gaps of one cause.
struct IdleGaps {
  int64_t total_ns = 0;
  Distribution each_ns;
};

// Gaps of one stream, by what the stream waited for: the host had not launched yet (launch after the running maximum of
// ends), the next row was launched but did not start within 30 us (`other`: a dependency, or the device was taken), or
// did (`kernel`). An orphan never waits for the host.
struct StreamIdle {
  int32_t device = -1, stream = -1;
  int64_t gpu_rows = 0;
  int64_t busy_ns = 0;  // union of its rows
  IdleGaps host_wait, kernel_wait, other;
};

// Rows launched but not yet started, of one stream: up at the start of the host call, down at the start of the row.
struct QueueDepth {
  int32_t device = -1, stream = -1;
  Distribution depth;   // after each change
  int64_t full_ns = 0;  // with 1024 rows or more: the queue of the device is full and the host blocks
};

// The same in one of at most 100 equal parts of the trace's window.
struct QueueBin {
  int32_t device = -1, stream = -1;
  int64_t start_ns = 0;  // since RankTrace::first_event
  int64_t length_ns = 0;
  int64_t depth_ns = 0;  // sum of depth x time: by length_ns, the mean depth
  int32_t deepest = 0;
};

// Rows that began as soon as their launch allowed, after the device had idled for it: the launch ended in the gap
// before the row. A stretch is a run of such rows, one directly after the other.
struct LaunchBound {
  int32_t device = -1;
  int64_t rows = 0, idle_ns = 0;
  int64_t stretches = 0;     // of two rows or more
  int64_t longest_rows = 0;  // of the longest stretch, by time
  int64_t longest_ns = 0;
  LocalNs longest_start;
  // Gaps of 30 us or more before rows whose launch had ended before the gap began: a dependency, a slow graph launch,
  // or somebody else on the device.
  int64_t queued_gaps = 0, queued_idle_ns = 0;
};

// Over the GPU rows that have a launch in the trace.
struct LaunchTotals {
  int64_t rows = 0;
  int64_t host_ns = 0;   // sum of the host calls
  int64_t gpu_ns = 0;    // sum of the rows
  int64_t delay_ns = 0;  // sum of max(0, start of the row - end of the call)
  int64_t longest_delay_ns = 0;
  int64_t short_rows = 0;    // call of 50 us or less, longer than the row it launched
  int64_t slow_calls = 0;    // call of more than 50 us
  int64_t late_starts = 0;   // delay of more than 100 us
  int64_t covered_rows = 0;  // that ended before the call that launched them returned
  // Rows that started late while the profiler refilled its buffers, and what of delay_ns passed meanwhile; -1: without
  // details.
  int64_t profiler_rows = -1, profiler_delay_ns = -1;
};

// All rows of one name.
struct KernelTotals {
  std::string name;
  GpuWork work = GpuWork::compute;
  int64_t count = 0;
  int64_t total_ns = 0, shortest_ns = 0, longest_ns = 0;
  double deviation_ns = 0;  // standard deviation of the sample (n - 1); 0 for one row
  double median_ns = 0;
  double share = 0;             // of the time of all rows
  double cumulative_share = 0;  // of this row and those before it
  std::string library;          // whose kernel it is, by its name; "": not known

  double mean_ns() const { return count == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(count); }
};

// Kernels of one name and one shape. -1: not recorded.
struct KernelVariant {
  std::string name;
  GpuWork work = GpuWork::compute;
  KernelShape shape;
  int64_t count = 0;
  int64_t total_ns = 0, shortest_ns = 0, longest_ns = 0;
  int64_t alone = 0;                              // runs during which the device did nothing else
  int64_t alone_median_ns = 0, alone_p95_ns = 0;  // nearest rank
};

// Copies and fills of one name.
struct CopyTotals {
  std::string name;  // "Memcpy DtoH (Device -> Pinned)", …
  int64_t count = 0, total_ns = 0;
  int64_t bytes = 0, timed_ns = 0;  // of the rows that tell their bytes
  int64_t sized = 0;                // how many do
  // Recorded bandwidths, summed over the copies of the name that run at the same time: as each one begins, and as one
  // ends while others run (HTA).
  Distribution concurrent_gb_per_s;

  double gb_per_s() const { return timed_ns == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(timed_ns); }
};

// Calls of the runtime or driver of one name; or work of the profiler on itself ("Activity Buffer Request").
struct HostCallTotals {
  std::string name;
  int64_t count = 0, total_ns = 0, longest_ns = 0;
  bool waits = false;         // it returns when GPU work has ended: cudaStreamSynchronize, cudaMemcpy, …
  int64_t covered_ns = 0;     // of waiting calls: GPU work that ran meanwhile
  int64_t idle_after_ns = 0;  // and the gap in which the call ended, up to the next GPU row; a gap counts once
  // Counts those that began inside a ProfilerStep; all where the trace has no steps.
  int64_t in_steps = 0, in_steps_ns = 0, in_steps_idle_after_ns = 0;
  // Of these calls, the profiler's own wait for the GPU as it ends the recording; never in a step.
  int64_t profiler_calls = 0, profiler_ns = 0;
};

// As tb_plugin: the window begins with the first step, or when what was launched before it has ended, and ends with the
// last step or the last GPU row launched in the steps; without steps it is that of the GPU rows.
struct Utilization {
  int64_t window_ns = 0;
  int64_t kernel_ns = 0;      // union of the kernels in it; of several devices, their mean
  double gpu = -1;            // kernel_ns / window_ns; -1: no window
  double sm_efficiency = -1;  // time x min(blocks per SM of what runs, 1) over the window; -1: not recorded
  double occupancy = -1;      // achieved, estimated by the profiler; weighted by time; 0..1
};

// All rows of one operation of one program (HLO of XLA).
struct HloOperationRow {
  std::string name, category, module, program;  // as in DeviceOperation; "" where not known
  int64_t gpu_rows = 0;
  int64_t executions = 0;  // rows of that of its kernels that ran most often: one execution may launch several kernels
  int64_t total_ns = 0, shortest_ns = 0, longest_ns = 0;  // rows
  int64_t flops = -1, bytes = -1, input_bytes = -1;       // of one execution; -1: not known
  double share = 0;                                       // of the time of all rows of the trace
  double cumulative_share = 0;                            // of this row and those before it
};

// All operations of one category; the row without one is of rows that are of no operation: copies, what the runtime
// launches itself. Rows sum to the trace.
struct HloCategoryRow {
  std::string category;
  int64_t operations = 0, gpu_rows = 0, executions = 0, total_ns = 0;
  int64_t flops = -1, bytes = -1;  // of all executions; -1: not known of one of them, or more than a number holds
  double share = 0, cumulative_share = 0;
};

struct RankTables {
  std::vector<TimelineRow> timeline;  // the trace; its devices where there are several; its steps
  std::vector<TimelineBin> over_time;
  std::vector<WorkTogether> together;      // most time first
  std::vector<StreamIdle> streams;         // sorted by (device, stream)
  std::vector<QueueDepth> queues;          // the same
  std::vector<QueueBin> queues_over_time;  // by stream, then by time; none for streams without launches
  std::vector<LaunchBound> launch_bound;   // by device
  LaunchTotals launches;
  std::vector<KernelTotals> kernels;  // longest total first, then by name
  // From details; empty without.
  bool detailed = false;
  bool half_precision_units = true;     // false: the device is known to have none (before compute capability 7)
  bool bfloat16_units = true;           // the same, of bfloat16 (before compute capability 8)
  std::vector<KernelVariant> variants;  // longest total first, then by name and shape
  std::vector<CopyTotals> copies;       // the same
  std::vector<HostCallTotals> calls;    // the same
  std::vector<HostCallTotals> overheads;
  Utilization utilization;
  std::vector<HloOperationRow> hlo_operations;  // longest total first; none where no row is of an operation
  std::vector<HloCategoryRow> hlo_categories;   // the same
};

// Empty when the parts of every table sum up; else the first that does not, in words.
std::string check_invariants(const RankTables& tables);

}  // namespace skewscope
