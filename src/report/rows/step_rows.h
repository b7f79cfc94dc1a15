// Steps of the job: their lengths, and what ranks and collectives did in them.
#pragma once

#include <vector>

#include "rooms.h"

namespace skewscope::report {

std::vector<JobReport::StepRow> step_rows(const Rooms& rooms);
// The same of these traces alone, which run `steps`.
std::vector<JobReport::StepRow> step_rows_of(const Rooms& rooms, const std::vector<TraceIndex>& traces,
                                             const std::vector<JobStep>& steps);
std::vector<JobReport::RankStep> rank_steps(const Rooms& rooms);
std::vector<JobReport::OutsideSteps> outside_steps(const Rooms& rooms);
std::vector<JobReport::CollectiveStep> collective_steps(const Rooms& rooms);

// Mean over the steps that most ranks recorded, as compare and scale have it; 0 without steps.
int64_t mean_step_ns(const JobReport& report);

}  // namespace skewscope::report
