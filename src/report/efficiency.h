// POP and TALP efficiencies of a job from its ranks' timelines.
#pragma once

#include <vector>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

JobReport::Efficiency efficiency_of(const std::vector<JobReport::RankRow>& ranks, const JobReport::WhatIf& what_if);

}  // namespace skewscope::report
