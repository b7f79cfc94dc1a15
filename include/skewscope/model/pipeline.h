// Data: the pipeline that a job's ranks form, as its messages show it, and how long its stages stood still.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/base/ids.h"

namespace skewscope {

enum class PipelineSchedule : uint8_t {
  one_f_one_b,  // a forward and a backward pass in turn; also where there is one micro-batch
  gpipe,        // all micro-batches forward, then all backward
  interleaved,  // ranks have several stages, which micro-batches pass one after the other
  zero_bubble,  // waits less than a schedule whose backward passes are whole can
};
const char* to_string(PipelineSchedule schedule);

// Times are sums over ranks and over all that was recorded; -1: not known.
struct Pipeline {
  struct Stage {
    std::vector<Rank> ranks;  // sorted: its replicas and shards
    int64_t work_ns = 0;      // passes of one rank, the one in the middle
    int64_t bubble_ns = 0;    // waiting of one rank for other stages, the mean
  };
  std::vector<Stage> stages;   // in the order of the model (of its first chunk); empty: no pipeline
  int32_t micro_batches = 0;   // between two flushes: of a step
  int32_t virtual_stages = 0;  // of each rank
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int64_t window_ns = 0;      // each rank's first to last row
  int64_t bubble_ns = -1;     // the ranks stood still for messages, or for other stages in collectives
  int64_t schedule_ns = -1;   // this schedule's with the same work, evenly divided, and a network that takes no time
  int64_t imbalance_ns = -1;  // what stages of different lengths add
  int64_t twice_ns = -1;      // all of it with twice the micro-batches, half as large
};

}  // namespace skewscope
