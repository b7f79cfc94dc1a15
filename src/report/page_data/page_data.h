// What index.html shows, as JSON (schema "skewscope.page/1", of several runs "skewscope.scale-page/1" and
// "skewscope.compare-page/1"; read by src/report/page only).
#pragma once

#include <string>

#include "skewscope/report.h"

namespace skewscope::report {

constexpr size_t kMostPageRows = 2000;        // of a table
constexpr size_t kMostPageTextBytes = 300;    // of a cell; longer text ends in "…"
constexpr size_t kMostPageStackBytes = 4000;  // the same of a call stack

// Bounded whatever the job holds, but for a few rows per rank. Integers beyond 2^53, which JavaScript would round, are
// strings of digits.
std::string page_data(const JobReport& report, const ReportStamp& stamp);
std::string page_data(const ScaleReport& report, const ReportStamp& stamp);
std::string page_data(const CompareReport& report, const ReportStamp& stamp);
// Of one GPU: "skewscope.rank-page/1".
std::string page_data(const RankReport& report, const std::string& tool_version);

}  // namespace skewscope::report
