// What a report process makes of what a job sent: the report on its traces, an aligned trace, a report of each capture
// where it has several, what its dumps say of a hang.
#pragma once

#include "skewscope/gather.h"

namespace skewscope::cli {

// Returns the exit code. What comes with the job's report, and cannot be made, is told in the log and fails nothing.
int make_report(const ReportTask& task);

}  // namespace skewscope::cli
