// What the newest report of a job says, taken into the history.
#pragma once

#include <optional>
#include <string>

#include "history.h"

namespace skewscope::gather {

// nullopt: the job has no report with an outcome, or one that makes no sense.
std::optional<Run> run_of_report(const Store& store, const JobState& job);
// The same of every job whose newest report the history does not have: of reports that ended just before the daemon
// did.
void take_reports(const Store& store, History& history);

}  // namespace skewscope::gather
