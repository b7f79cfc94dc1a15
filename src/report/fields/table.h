// A table of the report: the same rows go to CSV and SQLite. Rows are made on demand, so a table of a million calls
// costs no second copy.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "skewscope/model/job_report.h"
#include "skewscope/model/operator_tables.h"
#include "skewscope/model/rank_tables.h"
#include "skewscope/report.h"

namespace skewscope::report {

enum class ColumnType : uint8_t { integer, real, text, boolean };

struct Column {
  std::string name;
  ColumnType type = ColumnType::integer;
  std::string meaning;  // "": not described
};

// monostate: not determined (an empty CSV field, NULL in SQLite). A view is of text that its table's row refers to.
using Cell = std::variant<std::monostate, int64_t, double, bool, std::string_view, std::string>;

struct Table {
  std::string name;
  std::string meaning;  // of one row; "": not described
  std::vector<Column> columns;
  size_t rows = 0;
  // Fills `cells` (as many as columns) with row `row` < rows.
  std::function<void(size_t row, std::vector<Cell>& cells)> fill;
};

// All tables of the report directory; they refer to `report`, which must outlive them.
std::vector<Table> tables_of(const JobReport& report);
Table diagnostics_table(const Findings& findings);
// The tables of one trace, as `skewscope rank` writes them.
std::vector<Table> tables_of(const RankTables& tables);
std::vector<Table> tables_of(const OperatorTables& tables);
// These, and the findings.
std::vector<Table> tables_of(const RankReport& report);

}  // namespace skewscope::report
