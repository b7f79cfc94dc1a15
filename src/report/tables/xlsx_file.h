// All tables in one spreadsheet, a sheet each, behind one for people.
#pragma once

#include <string>
#include <vector>

#include "skewscope/base/result.h"
#include "src/report/fields/table.h"
#include "summary_sheet.h"

namespace skewscope::report {

// `summary` comes first, with a list of the other sheets below it; these have frozen headings and filters.
// Whole numbers that a spreadsheet cannot hold (2^53 and above) become text, texts are cut at its 32,767 characters,
// and a table with more rows than a sheet has (1,048,576) ends with a row that says how many follow in the CSV file.
// Errors: output.
Result<Done> write_xlsx(const SummarySheet& summary, const std::vector<Table>& tables, const std::string& path);

}  // namespace skewscope::report
