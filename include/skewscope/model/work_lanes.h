// Data: what the GPUs of chosen ranks computed and copied, in blocks that a picture has room for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/base/ids.h"
#include "skewscope/base/time.h"

namespace skewscope {

// Why a rank was chosen.
enum class LaneReason : uint8_t {
  whole_job,  // all ranks are there
  culprit,    // others waited for it
  victim,     // it waited most
  sample,     // evenly spread over the ranks
};
const char* to_string(LaneReason reason);

// Rows of one GPU that follow one another closely: kernels, or copies and fills.
struct WorkBlock {
  JobNs start;
  int64_t length_ns = 0;
  int64_t busy_ns = 0;  // of the length: during which one of its rows ran
  int32_t rows = 0;
  int32_t name = -1;  // of its longest row: row of WorkLane::names
  bool copies = false;
};

// Why a GPU was idle, by what ended the gap.
enum class IdleCause : uint8_t {
  host,             // the host launched the next row after the gap had begun
  synchronization,  // the same, after the host had waited for the GPU until the gap
  peer_call,        // a collective ran on the host meanwhile, which waits for its peers
  launch_latency,   // the next row had been launched, and started within kKernelWaitNs
  dependency,       // it had been launched, and waited for another stream, an event or another process
  not_recorded,     // the launch of the next row is not in the trace
};
constexpr size_t kIdleCauses = 6;
const char* to_string(IdleCause cause);

// A gap, or a part of it, on the clock of its trace.
struct IdleStretch {
  LocalNs begin, end;
  IdleCause cause = IdleCause::host;

  int64_t length_ns() const { return end - begin; }
};

// The longest of one trace, by time.
struct IdleTimes {
  std::vector<IdleStretch> stretches;
  int64_t left_out_ns = 0;  // the longest of the others; 0: none
};

struct IdleBlock {
  JobNs start;
  int64_t length_ns = 0;
  IdleCause cause = IdleCause::host;
};

struct WorkLane {
  TraceIndex trace;
  Rank rank;
  LaneReason reason = LaneReason::whole_job;
  std::vector<WorkBlock> blocks;  // by start
  std::vector<IdleBlock> idle;    // the longest gaps, by start
  std::vector<std::string> names;
};

struct WorkLanes {
  std::vector<WorkLane> lanes;  // by trace
  int64_t idle_below_ns = 0;    // gaps of at most this length may have no block; 0: all have
  int64_t merged_below_ns = 0;  // shorter rows, and shorter gaps between them, share a block; 0: each row has its own
};

}  // namespace skewscope
