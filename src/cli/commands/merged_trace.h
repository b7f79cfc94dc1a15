// The trace of all ranks that `merge` writes, and the gatherer with each report: which windows are in it, what is said
// of it.
#pragma once

#include <string>
#include <vector>

#include "skewscope/merge.h"
#include "skewscope/model/job_report.h"

namespace skewscope::cli {

inline constexpr int32_t kWorstWaitsOfAll = 5;  // that excerpts of all findings show besides these

// The report's findings that have a place in time.
std::vector<MergeWindow> windows_of(const JobReport& report);

// "8 of 8 traces, 815 kB" of the trace that was written to `path`, what is in it, and where to open it: lines.
std::string words_of(const MergeResult& result, const CorrelatedJob& job, const std::string& path, bool excerpts);

}  // namespace skewscope::cli
