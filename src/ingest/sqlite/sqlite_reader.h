// The reader of all SQLite files: which tracer wrote one, its tables tell.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "database.h"
#include "src/ingest/content/trace_reader.h"

namespace skewscope::ingest {

// One tracer's tables. Thread-safe.
class SqliteFormat {
 public:
  virtual ~SqliteFormat() = default;

  virtual bool is_of(const Database& database) const = 0;
  // As TraceReader::read; format, compression and bytes are filled in by the caller.
  virtual Result<std::vector<FileContent>> read(const Database& database, const ReaderSettings& settings,
                                                MemoryBudget& budget) const = 0;
  // As TraceReader::read_heads. A format whose rows alone say which ranks there are has all of it read.
  virtual std::vector<FileContent> read_heads(const Database& database) const;
  virtual const char* format() const = 0;  // "nsight systems sqlite"
};

// Names of the files: ".sqlite", ".sqlite3", ".db", ".rpd".
std::unique_ptr<TraceReader> make_sqlite_reader(std::vector<std::unique_ptr<SqliteFormat>> formats,
                                                const ReaderSettings& settings);

}  // namespace skewscope::ingest
