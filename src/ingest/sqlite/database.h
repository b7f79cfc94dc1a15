// An SQLite file that somebody else wrote, to be read only: nothing in it is trusted. Views, triggers and virtual
// tables are left alone, no value is longer than kLongestValue, and statements end after as many rows, and steps, as
// the size of the file allows, however its pages point at one another.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/base/result.h"
#include "src/ingest/content/memory_budget.h"

struct sqlite3;
struct sqlite3_stmt;

namespace skewscope::ingest {

constexpr int kLongestValue = 64 << 20;
constexpr int64_t kLargestInflated = int64_t{2} << 30;  // of a compressed file, which is held in memory

// The rows of one query, in the order in which they lie in the file where it names no other.
class Statement {
 public:
  // False: there are no more, or the file is damaged.
  bool next();
  bool damaged() const { return damaged_; }

  // Columns from 0. Numbers of another type than asked for are converted as SQLite does: text without digits is 0.
  bool is_null(int column) const;
  bool is_integer(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;
  // Until the next row; "" for null, of which data() is no null pointer: parsers copy from it.
  std::string_view text(int column) const;
  std::string_view bytes(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;  // null: could not be prepared
  int64_t rows_left_ = 0;
  bool damaged_ = false;
};

class Database {
 public:
  // Plain or compressed. Errors: unreadable (no database, cut, encrypted), resource_limit.
  static Result<Database> open(const std::string& file, MemoryBudget& budget);

  const std::string& file() const { return file_; }
  int64_t bytes() const { return bytes_; }                            // uncompressed
  const char* compression() const { return compression_; }            // "", "gzip", "zstd"
  const std::vector<std::string>& tables() const { return tables_; }  // ordinary ones, sorted
  bool has_table(std::string_view table) const;
  std::vector<std::string> columns(std::string_view table) const;  // none: no such table
  bool has_column(std::string_view table, std::string_view column) const;
  // A SELECT. One that does not fit the file's tables gives no rows and is damaged.
  Statement select(const std::string& sql) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::optional<Error> list_tables();
  void bound_steps();

  std::string file_;
  int64_t bytes_ = 0;
  const char* compression_ = "";
  std::shared_ptr<void> held_;  // what was charged for a file in memory, given back with it
  std::unique_ptr<int64_t> steps_left_;
  std::unique_ptr<sqlite3, Close> database_;
  std::vector<std::string> tables_;
};

// A name as SQL quotes it.
std::string sql_name(std::string_view name);

// Why the plain file is not a whole database, by its head and its size; "": it is.
std::string problem_of_database(const std::string& file);

}  // namespace skewscope::ingest
