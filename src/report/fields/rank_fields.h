// Rows of the tables of one trace, described once.
#pragma once

#include "field.h"
#include "skewscope/model/operator_tables.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope::report {

template <auto Member>
int64_t part_of(const TimelineBin& bin) {
  return bin.timeline.*Member;
}

struct TimelineBinFields {
  using Row = TimelineBin;
  static constexpr About kAbout = {"timeline_over_time", "timeline_over_time",
                                   "one of at most 400 equal parts of the trace's window; computing, the exposed parts "
                                   "and idle_ns sum to length_ns"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::start_ns>("start_ns", "begin of the part, since the first event of the trace"),
      field<&part_of<&RankSummary::total_ns>>("length_ns", "length of the part"),
      field<&part_of<&RankSummary::compute_ns>>("compute_ns", "kernels that compute, and fills, ran"),
      field<&part_of<&RankSummary::communication_ns>>("communication_ns", "communication ran"),
      field<&part_of<&RankSummary::exposed_communication_ns>>("exposed_communication_ns",
                                                              "communication ran and nothing computed"),
      field<&part_of<&RankSummary::exposed_memcpy_ns>>("exposed_memcpy_ns", "copies ran and nothing else did"),
      field<&part_of<&RankSummary::idle_ns>>("idle_ns", "nothing ran"),
      field<&part_of<&RankSummary::idle_host_wait_ns>>(
          "idle_host_wait_ns", "idle in a gap after which the next row was launched after the gap had begun"),
      field<&part_of<&RankSummary::idle_kernel_wait_ns>>(
          "idle_kernel_wait_ns", "idle in a gap of under 30 us before a row that had been launched in time"));
};

struct OperatorPassFields {
  using Row = OperatorPassRow;
  static constexpr About kAbout = {"operator_passes", "operator_passes",
                                   "forward operators of one name and their nodes of the backward pass"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::forward>("forward", "operator of the forward pass"),
                      field<&Row::backward>("backward", "node of the backward pass with the same sequence number"),
                      field<&Row::calls>("calls", "nodes of the backward pass"),
                      field<&Row::forward_gpu_ns>("forward_gpu_ns", "GPU time of what the forward operators launched"),
                      field<&Row::backward_gpu_ns>("backward_gpu_ns", "GPU time of what the nodes launched"),
                      field<&Row::forward_host_ns>("forward_host_ns", "host time of the forward operators"),
                      field<&Row::backward_host_ns>("backward_host_ns", "host time of the nodes"));
};

struct CallStackFields {
  using Row = CallStackRow;
  static constexpr About kAbout = {"call_stacks", "call_stacks",
                                   "kernels by where the program asked for them: the 200 with most GPU time"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::name>("name", "name of the kernel, copy or fill"),
      field<&Row::launcher>("launcher", "operator that launched it"),
      field<&Row::stack>("stack",
                         "the launcher and what was around it, operators and, where recorded (with_stack), Python "
                         "functions: the innermost first, one a line, at most 40"),
      field<&Row::launches>("launches", "GPU rows"), field<&Row::gpu_ns>("gpu_ns", "sum of these rows"));
};

struct MemoryFields {
  using Row = MemoryRow;
  static constexpr About kAbout = {"memory", "memory", "what PyTorch's allocator of one device held (profile_memory)"};
  static constexpr auto kFields = std::make_tuple(
      known<&Row::device>("device", "number of the GPU; null: the host"),
      field<&Row::allocations>("allocations", "allocations that were recorded"),
      field<&Row::frees>("frees", "frees that were recorded"),
      field<&Row::first_allocated_bytes>("first_allocated_bytes", "allocated before the first of them"),
      field<&Row::last_allocated_bytes>("last_allocated_bytes", "allocated after the last of them"),
      field<&Row::peak_allocated_bytes>("peak_allocated_bytes", "most that was allocated at once"),
      field<&Row::peak_at_ns>("peak_at_ns", "when that was first reached, since the first event of the trace"),
      field<&Row::peak_reserved_bytes>("peak_reserved_bytes",
                                       "most that the allocator had taken from the device; 0 on a host"));
};

struct MemoryBinFields {
  using Row = MemoryBin;
  static constexpr About kAbout = {
      "memory_over_time", "memory_over_time",
      "one of at most 200 equal parts of the time in which a device's memory was recorded"};
  static constexpr auto kFields =
      std::make_tuple(known<&Row::device>("device", "number of the GPU; null: the host"),
                      field<&Row::start_ns>("start_ns", "begin of the part, since the first event of the trace"),
                      field<&Row::length_ns>("length_ns", "length of the part"),
                      field<&Row::allocated_bytes>("allocated_bytes", "most that was allocated in it"),
                      field<&Row::reserved_bytes>("reserved_bytes", "most that the allocator had reserved in it"));
};

struct MemoryAtPeakFields {
  using Row = MemoryAtPeakRow;
  static constexpr About kAbout = {"memory_at_peak", "memory_at_peak",
                                   "what was allocated when most was, by the operator that allocated it; the rows of a "
                                   "device sum to its peak"};
  static constexpr auto kFields = std::make_tuple(
      known<&Row::device>("device", "number of the GPU; null: the host"),
      text<&Row::op>("operator",
                     "innermost operator around the allocation; null: outside every operator, or not recorded"),
      field<&Row::recorded>("recorded", "false: allocated before the recording began"),
      known<&Row::blocks>("blocks", "allocations; null: not recorded"), field<&Row::bytes>("bytes", "their sum"));
};

}  // namespace skewscope::report
