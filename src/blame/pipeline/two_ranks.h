// How often a micro-batch passes two ranks: one edge carries the messages of all stages, so that counting tells
// nothing.
//
// Idea: the work in front of the last rank's messages tells the stages per rank, v: it is that of F, F + B and B passes
// in turn where v is above 1. Believed is the v that leaves the least of it unexplained, if clearly less than 1 does.
#pragma once

#include "pipeline_shape.h"

namespace skewscope::blame {

// `sends`: of either rank between two flushes.
PipelinePlan plan_of_two(const ReplayPlan& plan, const PipelineRank& last, int32_t sends);

}  // namespace skewscope::blame
