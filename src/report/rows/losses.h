// What the job loses its time to, loss by loss, with what its repair would gain: verdict, colours and advice come from
// this list. Rules: losses.cc.
#pragma once

#include <string>
#include <vector>

#include "figures.h"
#include "skewscope/model/job_report.h"

namespace skewscope::report {

constexpr double kWorthHeadline = 0.02;  // of the job's length: less is no reason to change anything

// Those worth a headline, most weight first. From `report` without its losses.
std::vector<JobReport::Loss> losses_of(const JobReport& report, const Figures& f);

// "rank 3 causes most waiting (75 %)". `report` has stragglers.
std::string most_words(const JobReport& report, const Figures& f);

// No collective of this job is complete: who was last is not known.
bool nothing_complete(const JobReport& report);

}  // namespace skewscope::report
