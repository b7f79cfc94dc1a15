// Rows of a table of an export. Versions of nsys add columns and rename none: a column that a file lacks is NULL in
// every row.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "src/ingest/sqlite/database.h"

namespace skewscope::ingest {

// What was wrong with the rows of a file.
struct RowDefects {
  int64_t without_time = 0;  // left out
  int64_t open = 0;          // ranges without an end; left out
  bool damaged = false;      // not all rows of a table could be read
  std::string damaged_table;
};

// A SELECT of these columns.
std::string select_of(const Database& database, std::string_view table, std::initializer_list<const char*> columns);

// visit(const Statement&) for each row of a table, which may be absent. It returns false to end.
template <class Visit>
void visit_rows(const Database& database, const char* table, std::initializer_list<const char*> columns,
                RowDefects& defects, const Visit& visit) {
  if (!database.has_table(table)) return;
  Statement rows = database.select(select_of(database, table, columns));
  while (rows.next()) {
    if (!visit(rows)) return;
  }
  if (!rows.damaged() || defects.damaged) return;
  defects.damaged = true;
  defects.damaged_table = table;
}

}  // namespace skewscope::ingest
