// The files of a report that are handed out as they are, by their names in its folder: no page, which needs a policy of
// its own. A capture's own report, captures/c0001/, has the same.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "skewscope/gather/report_folder.h"

namespace skewscope::gather {

inline constexpr std::array<std::string_view, 8> kReportFiles = {"summary.txt",      "report.json",    "report.sqlite",
                                                                 "diagnostics.json", "report.prom",    "outcome.json",
                                                                 kAlignedTrace,      kAlignedTraceText};
inline constexpr std::string_view kReportTables = "tables/";

// "rank_steps.csv"
inline bool is_report_table(std::string_view name) {
  constexpr std::string_view kSuffix = ".csv";
  if (!name.ends_with(kSuffix) || name.size() == kSuffix.size()) return false;
  name.remove_suffix(kSuffix.size());
  return std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

inline bool is_report_file(std::string_view path) {
  if (path.starts_with(kReportTables)) return is_report_table(path.substr(kReportTables.size()));
  return std::find(kReportFiles.begin(), kReportFiles.end(), path) != kReportFiles.end();
}

// A path in the folder of a job's report without that of a capture's own report in it.
inline std::string_view path_in_report(std::string_view path) {
  const std::string folder = std::string(kCaptureReports) + "/c";
  if (!path.starts_with(folder)) return path;
  const size_t end = std::min(path.find_first_not_of("0123456789", folder.size()), path.size());
  const bool is_number = end > folder.size() && end < path.size() && path[end] == '/';
  return is_number ? path.substr(end + 1) : path;
}

}  // namespace skewscope::gather
