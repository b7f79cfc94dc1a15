// The files of a report that are handed out as they are, by their names in its folder: no page, which needs a policy of
// its own.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace skewscope::gather {

inline constexpr std::array<std::string_view, 6> kReportFiles = {"summary.txt",      "report.json", "report.sqlite",
                                                                 "diagnostics.json", "report.prom", "outcome.json"};
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

}  // namespace skewscope::gather
