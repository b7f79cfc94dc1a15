// An SQLite file that is written once, by rows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace skewscope::simulate {

class SqliteFile {
 public:
  struct Null {};
  struct Bytes {
    std::string_view bytes;
  };
  using Value = std::variant<Null, int64_t, std::string_view, Bytes>;

  // Made new; one transaction, no journal.
  SqliteFile(const std::string& path, const char* tables);

  // A row of a table, a value for each of its columns.
  void add(const char* table, const std::vector<Value>& values);
  // False where anything of it could not be written. Nothing may be added after it.
  bool close();

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void run(const char* sql);

  std::unique_ptr<sqlite3, Close> database_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>> inserts_;  // by table
  bool failed_ = false;
};

}  // namespace skewscope::simulate
