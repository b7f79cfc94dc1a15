// Figures of all ranks, one row per figure.
#pragma once

#include <vector>

#include "skewscope/model/job_report.h"
#include "skewscope/model/job_trace.h"
#include "skewscope/model/rank_figures.h"

namespace skewscope::report {

// `figures`: row = trace of the job. A rank that lacks a figure which others have is not counted in it. Rows sorted by
// (component, table, key, metric); without components all ranks are held against each other.
std::vector<JobReport::RankStatistic> rank_statistics(const JobTrace& job, const std::vector<RankFigures>& figures,
                                                      const std::vector<JobReport::Component>& components = {});

}  // namespace skewscope::report
