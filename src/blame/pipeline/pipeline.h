// How much of a job's time is its pipeline's bubble: what its schedule must have, what stages of different lengths add,
// and what twice the micro-batches would leave. See pipeline.cc.
#pragma once

#include "skewscope/model/pipeline.h"
#include "src/blame/replay/replay.h"

namespace skewscope::blame {

// The pipeline that the ranks of one island form; without stages where none is recognised.
Pipeline find_pipeline(const ReplayPlan& plan, int32_t island);

}  // namespace skewscope::blame
