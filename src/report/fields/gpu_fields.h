// The rows of one trace's tables about its GPU, its launches and its findings, described once.
#pragma once

#include <optional>
#include <string>

#include "field.h"
#include "skewscope/model/advice.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope::report {

inline bool is_outside_steps(const TimelineRow& row) { return row.place != StepPlace::step; }

struct TimelineFields {
  using Row = TimelineRow;
  template <auto Member>
  static int64_t part(const Row& row) {
    return row.timeline.*Member;
  }
  using S = RankSummary;
  static constexpr About kAbout = {"timeline", "timeline",
                                   "what the GPU did: the trace, its devices where there are several, its steps, and "
                                   "what is in no step"};
  static constexpr auto kFields = std::make_tuple(
      known<&Row::device>("device", "null: all devices of the trace"),
      known<&Row::step>("step",
                        "N of ProfilerStep#N; its row is what was launched in it, as it ran on the GPU: from the end "
                        "of the step before until the last row launched in it ends"),
      known<&Row::host_ns>("host_ns", "length of ProfilerStep#N on the host"),
      field<&Row::gpu_rows>("gpu_rows", "of a step: launched in it"),
      field<&part<&S::total_ns>>("total_ns", "from the first start to the last end"),
      field<&part<&S::compute_ns>>("compute_ns", "computing kernels and fills ran"),
      field<&part<&S::communication_ns>>("communication_ns", "communication kernels ran"),
      field<&part<&S::memcpy_ns>>("memcpy_ns", "copies ran"),
      field<&part<&S::exposed_communication_ns>>("exposed_communication_ns", "communication ran and no computing"),
      field<&part<&S::exposed_memcpy_ns>>("exposed_memcpy_ns", "copies ran, and neither computing nor communication"),
      field<&part<&S::busy_ns>>("busy_ns", "anything ran"), field<&part<&S::idle_ns>>("idle_ns", "nothing ran"),
      field<&part<&S::micro_idle_ns>>("micro_idle_ns", "idle_ns in gaps under 10 us"),
      field<&part<&S::idle_host_wait_ns>>("idle_host_wait_ns",
                                          "idle_ns in gaps after which the next row was launched after the gap had "
                                          "begun: the GPU waited for the host"),
      field<&part<&S::idle_kernel_wait_ns>>("idle_kernel_wait_ns",
                                            "idle_ns in gaps under 30 us before a row launched in time"),
      field<&part<&S::orphan_rows>>("orphan_rows", "rows whose launch is not in the trace; all figures count them"),
      field<&part<&S::orphan_ns>>("orphan_ns", "sum of those rows"),
      known<&Row::profiler_idle_ns>(
          "profiler_idle_ns",
          "of idle_ns, while the profiler refilled its own buffers: no gap of the program; null "
          "of devices, and of what is in no step"),
      where<&Row::place, &is_outside_steps>("place",
                                            "what is in no step: before, between or after the steps; with the steps, "
                                            "these rows sum to the whole trace"));
};

struct TimelineBinFields {
  using Row = TimelineBin;
  using S = RankSummary;
  template <auto Member>
  static int64_t part(const Row& row) {
    return row.timeline.*Member;
  }
  static constexpr About kAbout = {"timeline_over_time", "timeline_over_time",
                                   "one of at most 400 equal parts of the trace's window; computing, the exposed parts "
                                   "and idle_ns sum to length_ns"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::start_ns>("start_ns", "begin of the part, since the first event of the trace"),
      field<&part<&S::total_ns>>("length_ns", "length of the part"),
      field<&part<&S::compute_ns>>("compute_ns", "kernels that compute, and fills, ran"),
      field<&part<&S::communication_ns>>("communication_ns", "communication ran"),
      field<&part<&S::exposed_communication_ns>>("exposed_communication_ns", "communication ran and nothing computed"),
      field<&part<&S::exposed_memcpy_ns>>("exposed_memcpy_ns", "copies ran and nothing else did"),
      field<&part<&S::idle_ns>>("idle_ns", "nothing ran"),
      field<&part<&S::idle_host_wait_ns>>(
          "idle_host_wait_ns", "idle in a gap after which the next row was launched after the gap had begun"),
      field<&part<&S::idle_kernel_wait_ns>>(
          "idle_kernel_wait_ns", "idle in a gap of under 30 us before a row that had been launched in time"));
};

struct TogetherFields {
  using Row = WorkTogether;
  static constexpr About kAbout = {"together", "together", "time in which just these kinds of work ran"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::compute>("compute", "computing ran"),
      field<&Row::communication>("communication", "communication ran"), field<&Row::memcpy>("memcpy", "copies ran"),
      field<&Row::memset>("memset", "fills ran"), field<&Row::time_ns>("time_ns", "for how long"));
};

struct StreamFields {
  using Row = StreamIdle;
  template <auto Cause>
  static int64_t total_ns(const Row& row) {
    return (row.*Cause).total_ns;
  }
  static constexpr About kAbout = {"streams", "streams", "one stream, and what its gaps waited for"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::device>("device", "the GPU"), field<&Row::stream>("stream", "the stream"),
      field<&Row::gpu_rows>("gpu_rows", "rows that ran on it"), field<&Row::busy_ns>("busy_ns", "any of them ran"),
      field<&total_ns<&Row::host_wait>>("host_wait_ns", "gaps in which the next row had not been launched"),
      field<&total_ns<&Row::kernel_wait>>("kernel_wait_ns", "gaps under 30 us before rows launched in time"),
      field<&total_ns<&Row::other>>("other_ns", "longer gaps before such rows: a dependency, or the device was taken"));
};

// One row per cause: a stream has three.
struct IdleRow {
  const StreamIdle* stream;
  const char* cause;
  const IdleGaps* gaps;
};

struct GapFields {
  using Row = IdleRow;
  static int32_t device(const Row& row) { return row.stream->device; }
  static int32_t stream(const Row& row) { return row.stream->stream; }
  static int64_t count(const Row& row) { return row.gaps->each_ns.count; }
  static int64_t total_ns(const Row& row) { return row.gaps->total_ns; }
  static const Distribution& each_ns(const Row& row) { return row.gaps->each_ns; }
  static constexpr About kAbout = {"gaps", "gaps", "gaps of a stream that one cause explains"};
  static constexpr auto kFields = std::make_tuple(
      field<&device>("device", "the GPU"), field<&stream>("stream", "the stream"),
      field<&Row::cause>("cause", "host_wait, kernel_wait or other, as in streams"), field<&count>("count", "gaps"),
      field<&total_ns>("total_ns", "their sum"), distribution<&each_ns>("_ns", "length of a gap"));
};

struct QueueFields {
  using Row = QueueDepth;
  static int64_t changes(const Row& row) { return row.depth.count; }
  static constexpr About kAbout = {"queues", "queues", "how many rows of a stream were launched and had not started"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::device>("device", "the GPU"), field<&Row::stream>("stream", "the stream"),
      field<&changes>("changes", "launches and starts"),
      distribution<&Row::depth>("_depth", "rows in the queue after each change"),
      field<&Row::full_ns>("full_ns", "with 1,024 rows or more: the queue is full and the host is blocked"));
};

struct QueueBinFields {
  using Row = QueueBin;
  static double mean_depth(const Row& row) {
    return static_cast<double>(row.depth_ns) / static_cast<double>(row.length_ns);
  }
  static constexpr About kAbout = {"queues_over_time", "queues_over_time",
                                   "the queue of a stream in one of at most 100 equal parts of the trace"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::device>("device", "the GPU"), field<&Row::stream>("stream", "the stream"),
                      field<&Row::start_ns>("start_ns", "since the trace's first event"),
                      field<&Row::length_ns>("length_ns", "of the part"),
                      field<&mean_depth>("mean_depth", "rows in the queue, the mean over time"),
                      field<&Row::deepest>("most_depth", "the most at any time"));
};

struct LaunchBoundFields {
  using Row = LaunchBound;
  static int64_t longest_start_ns(const Row& row) { return row.longest_start.ns; }
  static bool has_stretch(const Row& row) { return row.stretches > 0; }
  static constexpr About kAbout = {"launch_bound", "launch_bound",
                                   "GPU rows that began as soon as their launch allowed, after the GPU had idled"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::device>("device", "the GPU"), field<&Row::rows>("rows", "such rows"),
      field<&Row::idle_ns>("idle_ns", "the GPU idled before them"),
      field<&Row::stretches>("stretches", "runs of two such rows or more, one directly after the other"),
      field<&Row::longest_rows>("longest_rows", "rows of the longest stretch"),
      field<&Row::longest_ns>("longest_ns", "its length"),
      where<&longest_start_ns, &has_stretch>("longest_start_ns", "its start, in the trace's own time"));
};

struct LaunchFields {
  using Row = LaunchTotals;
  static constexpr About kAbout = {"launches", "launches", "all GPU rows whose launch is in the trace"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::rows>("rows", "the GPU rows"), field<&Row::host_ns>("host_ns", "sum of the calls"),
      field<&Row::gpu_ns>("gpu_ns", "sum of the rows"),
      field<&Row::delay_ns>("delay_ns", "sum of the times from the end of the call to the start of the row"),
      field<&Row::longest_delay_ns>("longest_delay_ns", "the longest of these"),
      field<&Row::short_rows>("short_rows", "rows shorter than their call, where that took 50 us or less"),
      field<&Row::slow_calls>("slow_calls", "calls of over 50 us"),
      field<&Row::late_starts>("late_starts", "rows that started over 100 us after their call"),
      field<&Row::covered_rows>("covered_rows", "rows that ended before their call returned"),
      known<&Row::profiler_rows>("profiler_rows",
                                 "rows that started later because, or at least while, the profiler refilled its own "
                                 "buffers"),
      known<&Row::profiler_delay_ns>("profiler_delay_ns", "of delay_ns, while the profiler refilled its own buffers"));
};

struct KernelFields {
  using Row = KernelTotals;
  static constexpr About kAbout = {"kernels", "kernels", "all GPU rows of one name"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::name>("name", "of the kernel, copy or fill"),
      field<&Row::work>("work", "compute, communication, memcpy or memset"), field<&Row::count>("count", "rows"),
      field<&Row::total_ns>("total_ns", "their sum"), field<&Row::mean_ns>("mean_ns", "their mean"),
      field<&Row::shortest_ns>("shortest_ns", "the shortest"), field<&Row::longest_ns>("longest_ns", "the longest"),
      field<&Row::deviation_ns>("deviation_ns", "standard deviation of the sample; 0 for one row"),
      field<&Row::median_ns>("median_ns", "half of them take less"), field<&Row::share>("share", "of all rows' time"),
      field<&Row::cumulative_share>("cumulative_share", "of this row and those before it"),
      text<&Row::library>("library", "whose kernel it is, by its name: cuBLAS, cuDNN, PyTorch, …; null: not known"));
};

template <int64_t (KernelShape::*Sizes)[3], size_t kAxis>
int64_t size(const KernelVariant& row) {
  return (row.shape.*Sizes)[kAxis];
}
template <class Value, Value KernelShape::*Member>
Value of_shape(const KernelVariant& row) {
  return row.shape.*Member;
}

struct KernelShapeFields {
  using Row = KernelVariant;
  using S = KernelShape;
  static constexpr About kAbout = {"kernel_shapes", "kernel_shapes", "kernels of one name and one shape"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::name>("name", "of the kernel"), known<&size<&S::grid, 0>>("grid_x", "blocks of the grid"),
      known<&size<&S::grid, 1>>("grid_y", "blocks of the grid"),
      known<&size<&S::grid, 2>>("grid_z", "blocks of the grid"),
      known<&size<&S::block, 0>>("block_x", "threads of a block"),
      known<&size<&S::block, 1>>("block_y", "threads of a block"),
      known<&size<&S::block, 2>>("block_z", "threads of a block"),
      known<&of_shape<int32_t, &S::registers>>("registers_per_thread", "registers of a thread"),
      known<&of_shape<int32_t, &S::shared_memory>>("shared_memory_bytes", "of a block"),
      known<&of_shape<double, &S::blocks_per_sm>>("blocks_per_sm", "blocks over the GPU's multiprocessors"),
      known<&of_shape<double, &S::warps_per_sm>>("warps_per_sm", "warps over the GPU's multiprocessors"),
      known<&of_shape<double, &S::occupancy_percent>>("occupancy_percent",
                                                      "achieved occupancy, as the profiler estimates it"),
      field<&Row::count>("count", "runs"), field<&Row::total_ns>("total_ns", "their sum"),
      field<&Row::shortest_ns>("shortest_ns", "the shortest"), field<&Row::longest_ns>("longest_ns", "the longest"),
      field<&Row::alone>("alone", "runs during which the GPU did nothing else"),
      field<&Row::alone_median_ns>("alone_median_ns", "median of those, nearest rank"),
      field<&Row::alone_p95_ns>("alone_p95_ns", "95th percentile of those, nearest rank"));
};

struct CopyFields {
  using Row = CopyTotals;
  static bool is_timed(const Row& row) { return row.timed_ns > 0; }
  static constexpr About kAbout = {"copies", "copies", "copies and fills of one name"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::name>("name", "direction and kinds of memory"), field<&Row::count>("count", "copies"),
      field<&Row::total_ns>("total_ns", "their sum"), field<&Row::sized>("sized", "those whose bytes were recorded"),
      field<&Row::bytes>("bytes", "sum over those"),
      where<&Row::gb_per_s, &is_timed>("gb_per_s", "bytes over the time of those"),
      distribution<&Row::concurrent_gb_per_s>("_concurrent_gb_per_s",
                                              "recorded bandwidth, summed over copies of the name that run at once"));
};

struct HostCallFields {
  using Row = HostCallTotals;
  static constexpr About kAbout = {"host_calls", "host_calls", "calls of the runtime or driver of one name"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::name>("name", "of the call"), field<&Row::count>("count", "calls"),
      field<&Row::total_ns>("total_ns", "their sum"), field<&Row::longest_ns>("longest_ns", "the longest"),
      field<&Row::waits>("waits_for_gpu", "it returns when GPU work has ended"),
      field<&Row::covered_ns>("covered_ns", "of waiting calls: GPU work ran meanwhile"),
      field<&Row::idle_after_ns>("idle_after_ns",
                                 "of waiting calls: the gap in which the call ended, up to the next GPU row"),
      field<&Row::in_steps>("in_steps", "calls that began inside a ProfilerStep; all where there are no steps"),
      field<&Row::in_steps_ns>("in_steps_ns", "their sum"),
      field<&Row::in_steps_idle_after_ns>("in_steps_idle_after_ns", "idle_after_ns of those"),
      field<&Row::profiler_calls>("profiler_calls",
                                  "of these calls, the profiler's own: it waits for the GPU as it ends the recording, "
                                  "which costs the program nothing; never counted in in_steps"),
      field<&Row::profiler_ns>("profiler_ns", "of total_ns, in those"));
};

struct OverheadFields {
  using Row = HostCallTotals;
  static constexpr About kAbout = {"profiler_overhead", "profiler_overhead", "the profiler's work on itself, by name"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::name>("name", "as the profiler calls it"), field<&Row::count>("count", "times"),
      field<&Row::total_ns>("total_ns", "their sum"), field<&Row::longest_ns>("longest_ns", "the longest"),
      field<&Row::in_steps>("in_steps", "those that began inside a ProfilerStep; all where there are no steps"));
};

struct UtilizationFields {
  using Row = Utilization;
  static constexpr About kAbout = {"utilization", "utilization", "how much of the GPU was used, as TensorBoard has it"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::window_ns>("window_ns", "the steps, or the GPU rows where there are none"),
      field<&Row::kernel_ns>("kernel_ns", "kernels ran; the mean over devices"),
      known<&Row::gpu>("gpu_utilization", "kernel_ns over window_ns"),
      known<&Row::sm_efficiency>("estimated_sm_efficiency", "time x min(blocks per multiprocessor, 1), over window_ns"),
      known<&Row::occupancy>("estimated_achieved_occupancy", "as the profiler estimates it, weighted by time; 0..1"));
};

struct AdviceFields {
  using Row = Advice;
  static constexpr About kAbout = {"findings", "findings", "what an expert would say of this GPU"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::code>("code", "of the rule in configs/rank_rules.json"),
      text<&Row::sign>("sign", "what the trace shows, with its numbers"),
      text<&Row::threshold>("threshold", "what had to be passed"), text<&Row::meaning>("meaning", "what it means"),
      text<&Row::action>("action", "what to do"),
      field<&Row::information>("information", "explains the trace; nothing is to be repaired"),
      known<&Row::saves_at_most_ns>("saves_at_most_ns", "a bound of what a repair gains; null: the trace has none"));
};

struct EvidenceRow {
  const Advice* advice;
  const Evidence* evidence;
};

struct EvidenceFields {
  using Row = EvidenceRow;
  static const std::string& code(const Row& row) { return row.advice->code; }
  static const std::string& what(const Row& row) { return row.evidence->what; }
  static int64_t count(const Row& row) { return row.evidence->count; }
  static int64_t time_ns(const Row& row) { return row.evidence->time_ns; }
  static constexpr About kAbout = {"finding_evidence", "finding_evidence", "where a finding shows most"};
  static constexpr auto kFields = std::make_tuple(
      text<&code>("code", "of the finding"), text<&what>("what", "a kernel, a call, an operator or a step"),
      field<&count>("count", "how often"), field<&time_ns>("time_ns", "for how long"));
};

}  // namespace skewscope::report
