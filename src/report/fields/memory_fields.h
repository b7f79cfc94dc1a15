// The rows of one trace's tables about memory, described once.
#pragma once

#include "field.h"
#include "skewscope/model/memory_tables.h"

namespace skewscope::report {

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
