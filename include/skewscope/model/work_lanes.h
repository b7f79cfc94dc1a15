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

struct WorkLane {
  TraceIndex trace;
  Rank rank;
  LaneReason reason = LaneReason::whole_job;
  std::vector<WorkBlock> blocks;  // by start
  std::vector<std::string> names;
};

struct WorkLanes {
  std::vector<WorkLane> lanes;  // by trace
  int64_t merged_below_ns = 0;  // shorter rows, and shorter gaps between them, share a block; 0: each row has its own
};

}  // namespace skewscope
