// Steps of the job: their lengths, and what ranks and collectives did in them.
#pragma once

#include <vector>

#include "sources.h"

namespace skewscope::report {

std::vector<JobReport::StepRow> step_rows(const Sources& sources);
// The same of these traces alone, which run `steps`.
std::vector<JobReport::StepRow> step_rows_of(const Sources& sources, const std::vector<TraceIndex>& traces,
                                             const std::vector<JobStep>& steps);
std::vector<JobReport::RankStep> rank_steps(const Sources& sources);
std::vector<JobReport::OutsideSteps> outside_steps(const Sources& sources);
std::vector<JobReport::CollectiveStep> collective_steps(const Sources& sources);

}  // namespace skewscope::report
