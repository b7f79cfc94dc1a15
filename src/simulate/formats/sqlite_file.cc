#include "sqlite_file.h"

#include <sqlite3.h>

namespace skewscope::simulate {
namespace {

int bind(sqlite3_stmt* insert, int at, const SqliteFile::Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return sqlite3_bind_int64(insert, at, *number);
  if (const auto* text = std::get_if<std::string_view>(&value))
    return sqlite3_bind_text(insert, at, text->data(), static_cast<int>(text->size()), SQLITE_TRANSIENT);
  if (const auto* blob = std::get_if<SqliteFile::Bytes>(&value))
    return sqlite3_bind_blob(insert, at, blob->bytes.data(), static_cast<int>(blob->bytes.size()), SQLITE_TRANSIENT);
  return sqlite3_bind_null(insert, at);
}

}  // namespace

void SqliteFile::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void SqliteFile::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

SqliteFile::SqliteFile(const std::string& path, const char* tables) {
  sqlite3* database = nullptr;
  failed_ = sqlite3_open(path.c_str(), &database) != SQLITE_OK;
  database_.reset(database);
  run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
  run(tables);
}

void SqliteFile::run(const char* sql) {
  failed_ = failed_ || sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK;
}

void SqliteFile::add(const char* table, const std::vector<Value>& values) {
  auto insert = inserts_.find(std::string_view(table));
  if (insert == inserts_.end()) {
    std::string sql = std::string("INSERT INTO ") + table + " VALUES (";
    for (size_t i = 0; i < values.size(); ++i) sql += i == 0 ? "?" : ", ?";
    sqlite3_stmt* prepared = nullptr;
    failed_ = failed_ || sqlite3_prepare_v2(database_.get(), (sql + ")").c_str(), -1, &prepared, nullptr) != SQLITE_OK;
    insert = inserts_.emplace(table, prepared).first;
  }
  if (failed_) return;
  sqlite3_stmt* statement = insert->second.get();
  for (size_t i = 0; i < values.size(); ++i)
    failed_ |= bind(statement, static_cast<int>(i) + 1, values[i]) != SQLITE_OK;
  failed_ = failed_ || sqlite3_step(statement) != SQLITE_DONE;
  sqlite3_reset(statement);
}

bool SqliteFile::close() {
  run("COMMIT");
  inserts_.clear();
  database_.reset();
  return !failed_;
}

}  // namespace skewscope::simulate
