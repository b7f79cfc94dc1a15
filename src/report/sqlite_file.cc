#include "sqlite_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <memory>

namespace skewscope::report {
namespace {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

const char* type_name(ColumnType type) {
  switch (type) {
    case ColumnType::integer:
    case ColumnType::boolean:
      return "INTEGER";
    case ColumnType::real:
      return "REAL";
    case ColumnType::text:
      return "TEXT";
  }
  return "";
}

bool run(sqlite3* database, const std::string& sql) {
  return sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

struct BindCell {
  sqlite3_stmt* statement;
  int index;

  int operator()(std::monostate) const { return sqlite3_bind_null(statement, index); }
  int operator()(int64_t value) const { return sqlite3_bind_int64(statement, index, value); }
  int operator()(double value) const { return sqlite3_bind_double(statement, index, value); }
  int operator()(bool value) const { return sqlite3_bind_int(statement, index, value ? 1 : 0); }
  int operator()(const std::string& text) const {
    // The row's cells outlive the step that reads them: SQLITE_STATIC, which is a null pointer.
    return sqlite3_bind_text64(statement, index, text.data(), text.size(), nullptr, SQLITE_UTF8);
  }
};

bool write_table(sqlite3* database, const Table& table) {
  std::string columns, places;
  for (const Column& column : table.columns) {
    columns += fmt::format("{}\"{}\" {}", columns.empty() ? "" : ", ", column.name, type_name(column.type));
    places += places.empty() ? "?" : ", ?";
  }
  if (!run(database, fmt::format("CREATE TABLE {} ({})", table.name, columns))) return false;
  sqlite3_stmt* prepared = nullptr;
  const std::string insert = fmt::format("INSERT INTO {} VALUES ({})", table.name, places);
  sqlite3_prepare_v2(database, insert.c_str(), -1, &prepared, nullptr);
  const Statement statement(prepared);
  if (!statement) return false;
  std::vector<Cell> cells;
  for (size_t row = 0; row < table.rows; ++row) {
    table.fill(row, cells);
    for (size_t c = 0; c < cells.size(); ++c) {
      if (std::visit(BindCell{prepared, static_cast<int>(c) + 1}, cells[c]) != SQLITE_OK) return false;
    }
    if (sqlite3_step(prepared) != SQLITE_DONE) return false;
    sqlite3_reset(prepared);
  }
  return true;
}

}  // namespace

Result<Done> write_sqlite(const std::vector<Table>& tables, const std::string& views, const std::string& path) {
  sqlite3* opened = nullptr;
  const int status =
      sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  const Database database(opened);
  // No journal, no fsync: the directory counts only once it is whole and renamed.
  bool fine = status == SQLITE_OK &&
              run(opened, "PRAGMA page_size=32768; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
  for (size_t t = 0; fine && t < tables.size(); ++t) fine = write_table(opened, tables[t]);
  fine = fine && run(opened, views) && run(opened, "COMMIT");
  if (!fine) return Error{ErrorKind::output, fmt::format("cannot write {}: {}", path, sqlite3_errmsg(opened))};
  return Done{};
}

}  // namespace skewscope::report
