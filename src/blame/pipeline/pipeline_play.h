// A pipeline played: how long its ranks are idle when nothing but the order of the passes makes them.
//
// Problem: what must a schedule wait with stages as long as these, and with more micro-batches? Idea: each rank runs
// its passes in its schedule's order; a forward pass begins when the stage in front has ended it, a backward pass when
// the stage behind has. A backward pass takes twice as long as its forward pass. With even stages the ranks of 1F1B and
// GPipe wait (p - 1) / m of their work, interleaved (p - 1) / (v m): Narayanan et al. 2021, "Efficient Large-Scale
// Language Model Training on GPU Clusters Using Megatron-LM" (SC '21), section 2.2; Huang et al. 2019 for GPipe. Cost:
// O(passes).
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/pipeline.h"

namespace skewscope::blame {

struct StagePass {
  bool backward = false;
  int32_t chunk = 0, micro_batch = 0;
};

struct PipelinePlan {
  int32_t ranks = 0, micro_batches = 0, virtual_stages = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;

  int64_t passes() const { return int64_t{2} * ranks * micro_batches * virtual_stages; }
};

// What `rank` runs between two flushes, in turn.
std::vector<StagePass> passes_of(const PipelinePlan& plan, int32_t rank);

// `work_ns`: of each rank between two flushes. The mean of what a rank waits between them; -1: the passes of the ranks
// cannot run in their order.
double mean_wait_ns(const PipelinePlan& plan, const std::vector<double>& work_ns);

// The same with work divided evenly.
double even_wait_ns(const PipelinePlan& plan, double work_ns);

}  // namespace skewscope::blame
