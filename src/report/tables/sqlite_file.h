// All tables in one SQLite database.
#pragma once

#include <string>
#include <vector>

#include "skewscope/base/result.h"
#include "src/report/fields/table.h"

namespace skewscope::report {

// `views`: SQL that makes them over the tables. `path` must not exist. Errors: output.
Result<Done> write_sqlite(const std::vector<Table>& tables, const std::string& views, const std::string& path);

}  // namespace skewscope::report
