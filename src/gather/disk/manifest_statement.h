// The manifest's statements: values in, rows out.
#pragma once

#include "manifest.h"
#include "statement_values.h"

namespace skewscope::gather {

template <class... Values>
void Manifest::run(const char* sql, const Values&... values) {
  if (error_ != SQLITE_OK) return;
  sqlite3_stmt* statement = prepared(sql);
  if (statement == nullptr) return;
  int place = 0;
  int code = SQLITE_OK;
  ((code = code == SQLITE_OK ? bind(statement, ++place, values) : code), ...);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  const int after = sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  if (code != SQLITE_DONE && code != SQLITE_ROW) error_ = code;
  if (error_ == SQLITE_OK && after != SQLITE_OK) error_ = after;
}

template <class Row>
std::vector<Row> Manifest::read(const char* sql, Row (*row)(Cells&)) {
  std::vector<Row> rows;
  sqlite3_stmt* statement = prepared(sql);
  if (statement == nullptr) return rows;
  int code = sqlite3_step(statement);
  for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
    Cells cells(statement);
    Row read = row(cells);
    if (cells.sense()) {
      rows.push_back(std::move(read));
    } else {
      ++senseless_;
    }
  }
  sqlite3_reset(statement);
  if (code != SQLITE_DONE && error_ == SQLITE_OK) error_ = code;
  return rows;
}

}  // namespace skewscope::gather
