// Why waiting and transfer of most calls could not be split, and what would help.
#pragma once

#include <string>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

// The most frequent obstacle to the split, and its remedy.
void name_obstacle(const JobReport& report, std::string& why, std::string& next);

}  // namespace skewscope::report
