#include "table_rows.h"

#include <algorithm>
#include <vector>

namespace skewscope::ingest {

std::string select_of(const Database& database, std::string_view table, std::initializer_list<const char*> columns) {
  const std::vector<std::string> present = database.columns(table);
  std::string sql;
  for (const char* column : columns) {
    const bool known = std::find(present.begin(), present.end(), column) != present.end();
    sql += (sql.empty() ? "SELECT " : ", ") + (known ? sql_name(column) : std::string("NULL"));
  }
  return sql + " FROM " + sql_name(table);
}

}  // namespace skewscope::ingest
