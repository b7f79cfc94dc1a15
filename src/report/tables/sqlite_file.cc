#include "sqlite_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <new>
#include <set>

namespace skewscope::report {
namespace {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

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

// A table's rows as a virtual table (https://www.sqlite.org/vtab.html): one statement copies them all, in half the time
// that binding the cells of each row takes.
struct Rows : sqlite3_vtab {
  const Table* table;
};
struct RowsCursor : sqlite3_vtab_cursor {
  size_t row;
  std::vector<Cell> cells;
};

// SQLite is C: no exception may pass through it.
int fill(sqlite3_vtab_cursor* base, size_t row) {
  auto* cursor = static_cast<RowsCursor*>(base);
  const Table& table = *static_cast<Rows*>(base->pVtab)->table;
  cursor->row = row;
  try {
    if (row < table.rows) table.fill(row, cursor->cells);
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
  return SQLITE_OK;
}

struct GiveCell {
  sqlite3_context* context;

  void operator()(std::monostate) const { sqlite3_result_null(context); }
  void operator()(int64_t value) const { sqlite3_result_int64(context, value); }
  void operator()(double value) const { sqlite3_result_double(context, value); }
  void operator()(bool value) const { sqlite3_result_int(context, value ? 1 : 0); }
  void operator()(std::string_view text) const {
    // The row's cells outlive the record made of them: SQLITE_STATIC, which is a null pointer.
    sqlite3_result_text64(context, text.data(), text.size(), nullptr, SQLITE_UTF8);
  }
};

std::string declared_columns(const Table& table) {
  std::string columns;
  for (const Column& column : table.columns) {
    columns += fmt::format("{}\"{}\" {}", columns.empty() ? "" : ", ", column.name, type_name(column.type));
  }
  return columns;
}

sqlite3_module rows_module() {
  sqlite3_module module{};
  module.xConnect = [](sqlite3* database, void* table, int, const char* const*, sqlite3_vtab** made, char**) {
    auto rows = std::make_unique<Rows>();
    rows->table = static_cast<const Table*>(table);
    const std::string sql = fmt::format("CREATE TABLE rows ({})", declared_columns(*rows->table));
    const int status = sqlite3_declare_vtab(database, sql.c_str());
    if (status == SQLITE_OK) *made = rows.release();
    return status;
  };
  module.xDisconnect = [](sqlite3_vtab* rows) {
    delete static_cast<Rows*>(rows);
    return SQLITE_OK;
  };
  module.xBestIndex = [](sqlite3_vtab*, sqlite3_index_info*) { return SQLITE_OK; };
  module.xOpen = [](sqlite3_vtab*, sqlite3_vtab_cursor** made) {
    *made = std::make_unique<RowsCursor>().release();
    return SQLITE_OK;
  };
  module.xClose = [](sqlite3_vtab_cursor* cursor) {
    delete static_cast<RowsCursor*>(cursor);
    return SQLITE_OK;
  };
  module.xFilter = [](sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) { return fill(cursor, 0); };
  module.xNext = [](sqlite3_vtab_cursor* cursor) { return fill(cursor, static_cast<RowsCursor*>(cursor)->row + 1); };
  module.xEof = [](sqlite3_vtab_cursor* cursor) {
    return static_cast<RowsCursor*>(cursor)->row >= static_cast<Rows*>(cursor->pVtab)->table->rows ? 1 : 0;
  };
  module.xColumn = [](sqlite3_vtab_cursor* cursor, sqlite3_context* context, int column) {
    std::visit(GiveCell{context}, static_cast<RowsCursor*>(cursor)->cells[static_cast<size_t>(column)]);
    return SQLITE_OK;
  };
  module.xRowid = [](sqlite3_vtab_cursor* cursor, sqlite3_int64* row) {
    *row = static_cast<sqlite3_int64>(static_cast<RowsCursor*>(cursor)->row);
    return SQLITE_OK;
  };
  return module;
}

// Which column of which tables is the key of which table. Not of tables that may name ranks without a trace.
struct Reference {
  std::string_view column, table, key;
  std::initializer_list<std::string_view> from;  // empty: every table with the column
};
const std::initializer_list<Reference> kReferences = {
    {"communicator", "communicators", "id", {}},
    {"late_in", "communicators", "id", {}},
    {"waited_in", "communicators", "id", {}},
    {"rank",
     "ranks",
     "rank",
     {"clocks", "stragglers", "causes", "blame_flows", "collective_ranks", "unmatched", "rank_steps", "outside_steps"}},
};

class Keys {
 public:
  explicit Keys(const std::vector<Table>& tables) {
    for (const Table& table : tables) {
      for (const Column& column : table.columns) columns_.insert({table.name, column.name});
    }
  }
  // "PRIMARY KEY", "REFERENCES communicators(id)" or "".
  std::string of(const Table& table, const Column& column) const {
    for (const Reference& one : kReferences) {
      if (columns_.count({std::string(one.table), std::string(one.key)}) == 0) continue;
      if (table.name == one.table && column.name == one.key) return " PRIMARY KEY";
      const bool wanted =
          one.from.size() == 0 || std::find(one.from.begin(), one.from.end(), table.name) != one.from.end();
      if (wanted && column.name == one.column) return fmt::format(" REFERENCES {}({})", one.table, one.key);
    }
    return "";
  }

 private:
  std::set<std::pair<std::string, std::string>> columns_;
};

// With what table and columns mean as comments, which sqlite_master keeps and `.schema` shows.
std::string create_statement(const Table& table, const Keys& keys) {
  const auto comment = [](const std::string& meaning) { return meaning.empty() ? "" : " -- " + meaning; };
  std::string sql = fmt::format("CREATE TABLE {} ({}\n", table.name, comment(table.meaning));
  for (const Column& column : table.columns) {
    const char* comma = &column == &table.columns.back() ? "" : ",";
    sql += fmt::format("  \"{}\" {}{}{}{}\n", column.name, type_name(column.type), keys.of(table, column), comma,
                       comment(column.meaning));
  }
  return sql + ")";
}

bool write_table(sqlite3* database, const Table& table, const Keys& keys) {
  static const sqlite3_module module = rows_module();
  const std::string rows = table.name + "_rows";
  return sqlite3_create_module(database, rows.c_str(), &module, const_cast<Table*>(&table)) == SQLITE_OK &&
         run(database, create_statement(table, keys)) &&
         run(database, fmt::format("INSERT INTO {} SELECT * FROM {}", table.name, rows));
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
  const Keys keys(tables);
  for (size_t t = 0; fine && t < tables.size(); ++t) fine = write_table(opened, tables[t], keys);
  fine = fine && run(opened, views) && run(opened, "COMMIT");
  if (!fine) return Error{ErrorKind::output, fmt::format("cannot write {}: {}", path, sqlite3_errmsg(opened))};
  return Done{};
}

}  // namespace skewscope::report
