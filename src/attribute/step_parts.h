// Where each GPU's time went, step by step of the job. See step_parts.cc.
#pragma once

#include <vector>

#include "busy_intervals.h"
#include "skewscope/model/clock_model.h"
#include "skewscope/model/decomposition.h"

namespace skewscope::attribute {

// On the GPU where the job has any: steps are as they ran there.
StepBasis step_basis(const JobTrace& job);

// Lays out the steps of the job from those of its traces, which it sorts by session, number and trace; each then knows
// its row of the result.
std::vector<JobStep> steps_of(const JobTrace& job, const ClockModel& clocks, std::vector<TraceStep>& trace_steps);
// The same of each island of several traces, from sorted steps of traces; none where there is one island.
std::vector<std::vector<JobStep>> steps_of_islands(const JobTrace& job, const ClockModel& clocks,
                                                   const std::vector<TraceStep>& trace_steps);

// Where something that computation hides begins or ends.
struct LabelEdge {
  int64_t ns;
  int32_t change;  // +1 begins, -1 ends
  int32_t label;   // a row of kHidden in step_parts.cc; -1: none
};
// Leaves room for the edges of as many calls.
std::vector<LabelEdge> copy_edges(const GpuEvents& gpu, size_t calls);
// The parts of a communication call in the order wait, transfer.
void add_edges(LocalNs start, const CallParts& parts, std::vector<LabelEdge>& edges);

class StepLabels {
 public:
  // `edges`: of all copies and calls of the trace, in any order. `busy` must outlive this.
  StepLabels(std::vector<LabelEdge> edges, const BusyIntervals& busy);
  StepParts between(LocalNs begin, LocalNs end) const;
  TraceStep step(TraceIndex trace, const StepSpan& span) const;
  // What of the window is in no step, by place.
  std::vector<TraceRest> rests(TraceIndex trace, const std::vector<StepSpan>& spans) const;

 private:
  const BusyIntervals& busy_;
  std::vector<LabelEdge> edges_;  // by time: `label` is exposed where nothing computes, until the next one
};

}  // namespace skewscope::attribute
