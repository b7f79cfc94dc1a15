// What the replays say: how long a step, or the job, would take if one thing were different.
#pragma once

#include <string>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

// "A step takes 19.7 ms. If no rank were slow: 18.8 ms (4 % less). ..."; "" where nothing was replayed.
// `some_missing`: ranks have no trace, so a step's length is not the job's. `only_ranks`: of some ranks, in brief.
std::string what_if_words(const JobReport& report, bool some_missing, bool only_ranks);

}  // namespace skewscope::report
