// The report's tables as the page holds them.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "page_data.h"
#include "src/report/fields/table.h"

namespace skewscope::report {

// Text as the page shows it: valid UTF-8, at most `most` bytes, then "…".
std::string page_text(std::string_view text, size_t most = kMostPageTextBytes);

// A number that JavaScript reads back exactly: beyond 2^53 a string of digits.
nlohmann::ordered_json exact(int64_t value);

// name -> {columns: [name], values: [column], count, left_out}: the columns of tables/*.csv, and at most kMostPageRows
// rows of each but for those with rows for every rank: of the others those that weigh most, in their
// order. Calls, unmatched calls, what the ranks did in each step, and operators by their arguments stay in their files.
nlohmann::ordered_json page_tables(const std::vector<Table>& tables);

}  // namespace skewscope::report
