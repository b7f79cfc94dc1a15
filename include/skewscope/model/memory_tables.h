// Data: what the allocators of PyTorch held, from the "[memory]" events of a trace (profile_memory): one for each
// allocation and each free, with what is held in all after it. Allocated: by tensors; reserved: what the allocator has
// taken from the device, the rest of it free for the next tensor. A CPU allocator reserves nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skewscope {

// One device.
struct MemoryRow {
  int32_t device = -1;  // -1: the host
  int64_t allocations = 0, frees = 0;
  int64_t first_allocated_bytes = 0;  // before the first event
  int64_t last_allocated_bytes = 0;   // after the last event
  int64_t peak_allocated_bytes = 0;
  int64_t peak_at_ns = 0;  // when that was first reached, since RankTrace::first_event
  int64_t peak_reserved_bytes = 0;
};

// One of at most 200 equal parts of the time between a device's first and last event.
struct MemoryBin {
  int32_t device = -1;
  int64_t start_ns = 0;  // since RankTrace::first_event
  int64_t length_ns = 0;
  int64_t allocated_bytes = 0, reserved_bytes = 0;  // the most in it
};

// The bytes allocated when the peak was first reached, by the operator that had allocated them; they sum to the peak.
struct MemoryAtPeakRow {
  int32_t device = -1;
  std::string op;        // innermost around the allocation; "": before the recording began, or outside every operator
  bool recorded = true;  // false: allocated before the recording began; a sum, whose blocks nobody counted
  int64_t blocks = 0;
  int64_t bytes = 0;
};

struct MemoryTables {
  std::vector<MemoryRow> devices;         // the host first
  std::vector<MemoryBin> over_time;       // by device, then by time
  std::vector<MemoryAtPeakRow> at_peaks;  // by device, then most bytes first
};

}  // namespace skewscope
