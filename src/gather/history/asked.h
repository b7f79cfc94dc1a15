// Statements of the history's database.
#pragma once

#include <sqlite3.h>

#include <string>

#include "src/gather/disk/statement_values.h"

namespace skewscope::gather {

// One statement, its values bound in their order.
class Asked {
 public:
  template <class... Values>
  Asked(sqlite3* database, const std::string& sql, const Values&... values) {
    sqlite3_prepare_v2(database, sql.c_str(), static_cast<int>(sql.size()), &statement_, nullptr);
    int place = 0;
    if (statement_ != nullptr) (static_cast<void>(bind(statement_, ++place, values)), ...);
  }
  ~Asked() { sqlite3_finalize(statement_); }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  bool next() { return statement_ != nullptr && sqlite3_step(statement_) == SQLITE_ROW; }
  bool done() { return statement_ != nullptr && sqlite3_step(statement_) == SQLITE_DONE; }
  Cells cells() const { return Cells(statement_); }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace skewscope::gather
