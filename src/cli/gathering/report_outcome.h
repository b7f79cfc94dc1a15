// A report's outcome is what the gatherer's history keeps of it (outcome.json in the report directory).
#pragma once

#include <string>

#include "skewscope/gather/report_outcome.h"
#include "skewscope/model/job_report.h"

namespace skewscope::cli {

ReportOutcome outcome_of(const JobReport& report);
// The history lacks a report whose outcome cannot be written; nothing else does.
void write_outcome(const std::string& folder, const JobReport& report);

}  // namespace skewscope::cli
