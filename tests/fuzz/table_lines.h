// For fuzz targets that read SQLite files: a file out of lines "LETTER|value|value ...", each a row of the table of
// that letter; a value is a number, text, or X and hexadecimal.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>

#include "require.h"

namespace skewscope::test {

struct FuzzTable {
  char letter;
  const char* name;
  const char* columns;
  int count;
};

inline std::string unhexed(std::string_view hex) {
  std::string bytes;
  for (size_t at = 0; at + 1 < hex.size(); at += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + at, hex.data() + at + 2, value, 16);
    bytes += static_cast<char>(value);
  }
  return bytes;
}

inline void bind_value(sqlite3_stmt* insert, int at, std::string_view value) {
  int64_t number = 0;
  const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (value.empty()) {
    sqlite3_bind_null(insert, at);
  } else if (error == std::errc() && rest == value.data() + value.size()) {
    sqlite3_bind_int64(insert, at, number);
  } else if (value.front() == 'X') {
    const std::string bytes = unhexed(value.substr(1));
    sqlite3_bind_blob(insert, at, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
  } else {
    sqlite3_bind_text(insert, at, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
  }
}

inline void add_table_row(sqlite3* database, std::span<const FuzzTable> tables, std::string_view line) {
  for (const FuzzTable& table : tables) {
    if (line.empty() || line.front() != table.letter) continue;
    std::string sql = std::string("INSERT OR IGNORE INTO ") + table.name + " VALUES (?";
    for (int i = 1; i < table.count; ++i) sql += ", ?";
    sqlite3_stmt* insert = nullptr;
    if (sqlite3_prepare_v2(database, (sql + ")").c_str(), -1, &insert, nullptr) != SQLITE_OK) return;
    for (int i = 1; i <= table.count && line.find('|') != line.npos; ++i) {
      line.remove_prefix(line.find('|') + 1);
      bind_value(insert, i, line.substr(0, line.find('|')));
    }
    sqlite3_step(insert);
    sqlite3_finalize(insert);
    return;
  }
}

inline void write_tables(const std::string& path, std::span<const FuzzTable> tables, std::string_view text) {
  sqlite3* database = nullptr;
  require(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  std::string sql = "PRAGMA journal_mode = OFF; BEGIN;";
  for (const FuzzTable& table : tables) sql += std::string("CREATE TABLE ") + table.name + " (" + table.columns + ");";
  require(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    add_table_row(database, tables, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  sqlite3_exec(database, "COMMIT", nullptr, nullptr, nullptr);
  sqlite3_close(database);
}

}  // namespace skewscope::test
