#include "database.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "src/ingest/text/byte_source.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kSmallestRow = 4;       // bytes of a row in its page: no row takes fewer
constexpr int64_t kRowsOfAnyFile = 1000;  // that any file may have
// Of SQLite's machine, for all statements together: some 20 a row.
constexpr int kStepsPerLook = 100'000;
constexpr int64_t kMostStepsPerByte = 64, kFewSteps = 100'000'000;

struct Inflated {
  unsigned char* bytes = nullptr;  // of sqlite3_malloc64
  int64_t size = 0;
};

// The whole file, on the budget; without bytes where it is larger than it may be.
Result<Inflated> inflate(const std::string& file, ByteSource& source, MemoryBudget& budget) {
  Inflated all;
  int64_t room = 0;
  const auto fail = [&](Error error) {
    sqlite3_free(all.bytes);
    budget.give_back(room);
    return error;
  };
  for (size_t got = 1; got > 0;) {
    if (all.size == room) {
      const int64_t more = std::max<int64_t>(room, 1 << 20);
      if (room + more > kLargestInflated)
        return fail({ErrorKind::unreadable, "larger than " + size_text(kLargestInflated) + " when it is inflated"});
      room += more;
      if (!budget.take(more)) return fail(budget.exceeded_by(file));
      void* grown = sqlite3_realloc64(all.bytes, static_cast<sqlite3_uint64>(room));
      if (grown == nullptr) return fail(budget.exceeded_by(file));
      all.bytes = static_cast<unsigned char*>(grown);
    }
    got = source.read(reinterpret_cast<char*>(all.bytes) + all.size, static_cast<size_t>(room - all.size));
    all.size += static_cast<int64_t>(got);
  }
  if (source.end() != SourceEnd::whole) return fail({ErrorKind::unreadable, "its compressed stream is damaged or cut"});
  budget.give_back(room - all.size);
  return all;
}

// A file's name in a URI.
std::string escaped(const std::string& file) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string uri;
  for (const char c : file) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
                       c == '/' || c == '.' || c == '_' || c == '-';
    if (plain) {
      uri += c;
    } else {
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return uri;
}

void trust_nothing(sqlite3* database) {
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_exec(database, "PRAGMA cell_size_check = ON", nullptr, nullptr, nullptr);
}

int64_t big_endian(const unsigned char* bytes, int count) {
  int64_t number = 0;
  for (int i = 0; i < count; ++i) number = number << 8 | bytes[i];
  return number;
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

bool Statement::next() {
  if (statement_ == nullptr || damaged_) return false;
  const int got = sqlite3_step(statement_.get());
  damaged_ = (got != SQLITE_ROW && got != SQLITE_DONE) || (got == SQLITE_ROW && --rows_left_ < 0);
  return got == SQLITE_ROW && !damaged_;
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

bool Statement::is_integer(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER; }

int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string_view Statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return "";
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string_view Statement::bytes(int column) const {
  const void* blob = sqlite3_column_blob(statement_.get(), column);
  if (blob == nullptr) return "";
  return {static_cast<const char*>(blob), static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<Database> Database::open(const std::string& file, MemoryBudget& budget) {
  Result<std::unique_ptr<ByteSource>> source = open_byte_source(file);
  if (!source.ok()) return Error{ErrorKind::unreadable, source.error().message};
  Database opened;
  opened.file_ = file;
  opened.compression_ = source.value()->compression();
  sqlite3* database = nullptr;
  int failed = SQLITE_OK;
  if (*opened.compression_ == '\0') {
    std::error_code unknown;
    opened.bytes_ = static_cast<int64_t>(std::filesystem::file_size(file, unknown));
    const std::string uri = "file:" + escaped(std::filesystem::absolute(file).string()) + "?immutable=1";
    failed = sqlite3_open_v2(uri.c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
    opened.database_.reset(database);
  } else {
    const Result<Inflated> all = inflate(file, *source.value(), budget);
    if (!all.ok()) return all.error();
    opened.bytes_ = all.value().size;
    opened.held_ = std::shared_ptr<void>(nullptr, [&budget, bytes = opened.bytes_](void*) { budget.give_back(bytes); });
    failed = sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE, nullptr);
    opened.database_.reset(database);
    // Frees the bytes where it fails, too.
    if (failed == SQLITE_OK)
      failed = sqlite3_deserialize(database, "main", all.value().bytes, opened.bytes_, opened.bytes_,
                                   SQLITE_DESERIALIZE_READONLY | SQLITE_DESERIALIZE_FREEONCLOSE);
  }
  if (failed != SQLITE_OK) return Error{ErrorKind::unreadable, sqlite3_errstr(failed)};
  trust_nothing(database);
  opened.bound_steps();
  if (const std::optional<Error> error = opened.list_tables()) return *error;
  return opened;
}

void Database::bound_steps() {
  steps_left_ = std::make_unique<int64_t>(kMostStepsPerByte * bytes_ + kFewSteps);
  const auto look = [](void* left) { return (*static_cast<int64_t*>(left) -= kStepsPerLook) < 0 ? 1 : 0; };
  sqlite3_progress_handler(database_.get(), kStepsPerLook, look, steps_left_.get());
}

std::optional<Error> Database::list_tables() {
  Statement all = select("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0");
  while (all.next()) tables_.emplace_back(all.text(0));
  std::sort(tables_.begin(), tables_.end());
  if (!all.damaged()) return std::nullopt;
  return Error{ErrorKind::unreadable, std::string("no whole SQLite database: ") + sqlite3_errmsg(database_.get())};
}

bool Database::has_table(std::string_view table) const {
  return std::binary_search(tables_.begin(), tables_.end(), table);
}

std::vector<std::string> Database::columns(std::string_view table) const {
  std::vector<std::string> names;
  if (!has_table(table)) return names;
  Statement all = select("SELECT name FROM pragma_table_info(" + sql_name(table) + ")");
  while (all.next()) names.emplace_back(all.text(0));
  return names;
}

bool Database::has_column(std::string_view table, std::string_view column) const {
  const std::vector<std::string> all = columns(table);
  return std::find(all.begin(), all.end(), column) != all.end();
}

Statement Database::select(const std::string& sql) const {
  Statement statement;
  sqlite3_stmt* prepared = nullptr;
  const int failed = sqlite3_prepare_v2(database_.get(), sql.c_str(), static_cast<int>(sql.size()), &prepared, nullptr);
  statement.statement_.reset(prepared);
  statement.damaged_ = failed != SQLITE_OK || prepared == nullptr || sqlite3_stmt_readonly(prepared) == 0;
  statement.rows_left_ = bytes_ / kSmallestRow + kRowsOfAnyFile;
  return statement;
}

std::string sql_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

std::string problem_of_database(const std::string& file) {
  std::array<unsigned char, 100> head{};
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(head.data()), head.size());
  std::error_code failed;
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(file, failed));
  if (failed || in.gcount() < static_cast<std::streamsize>(head.size())) return "cut inside its head";
  const int64_t page_bytes = head[16] == 0 && head[17] == 1 ? 65536 : big_endian(&head[16], 2);
  const int64_t pages = big_endian(&head[28], 4);
  // The number of pages counts where the last writer wrote it.
  const bool tells = pages > 0 && std::equal(&head[24], &head[28], &head[92]);
  if (tells && bytes < pages * page_bytes) return "cut: it has fewer bytes than its pages";
  if (!tells && (page_bytes == 0 || bytes % page_bytes != 0)) return "cut inside a page";
  return "";
}

}  // namespace skewscope::ingest
