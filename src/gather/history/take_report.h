// What the newest report of a job says, taken into the history.
#pragma once

#include <optional>
#include <string>

#include "history.h"

namespace skewscope::gather {

// outcome.json of a report, or of a capture's own in it; nullopt: there is none, or it makes no sense.
std::optional<ReportOutcome> outcome_in(const Store& store, const std::string& job, int generation,
                                        const std::string& path);
// nullopt: the job has no report with an outcome, or one that makes no sense.
std::optional<Run> run_of_report(const Store& store, const JobState& job);
// The same of every job whose newest report the history does not have: of reports that ended just before the daemon
// did.
void take_reports(const Store& store, History& history);

}  // namespace skewscope::gather
