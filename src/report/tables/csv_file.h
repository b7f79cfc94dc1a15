// A table as CSV (RFC 4180): comma, quotes where needed, header line; lines end in \n.
#pragma once

#include <string>

#include "skewscope/base/result.h"
#include "src/report/fields/table.h"

namespace skewscope::report {

// Appends one field; quoted where it holds a comma, a quote or a line break.
void append_csv_field(std::string& line, const Cell& cell);

// Errors: output.
Result<Done> write_csv(const Table& table, const std::string& path);

}  // namespace skewscope::report
