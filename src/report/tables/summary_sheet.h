// The first sheet of a spreadsheet: what a person looks up first, in readable units, and what the other sheets hold.
#pragma once

#include <string>
#include <vector>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

// The cells of a row, from the left; `heading`: in bold.
struct SheetLine {
  std::vector<std::string> cells;
  bool heading = false;
};
using SummarySheet = std::vector<SheetLine>;

SummarySheet summary_sheet(const JobReport& report);
// Of any other report: the lines of its summary.
SummarySheet summary_sheet(const std::string& summary);

}  // namespace skewscope::report
