// What the gatherer's history keeps of a report (outcome.json in the report directory).
#pragma once

#include <string>

#include "skewscope/gather/report_outcome.h"
#include "skewscope/model/job_report.h"

namespace skewscope::cli {

ReportOutcome outcome_of(const JobReport& report);
// Where it cannot be written, the history lacks the report and nothing else does.
void write_outcome(const std::string& folder, const JobReport& report);

}  // namespace skewscope::cli
