// One file while its tables are read.
#pragma once

#include "export_strings.h"
#include "processes.h"
#include "session.h"
#include "table_rows.h"

namespace skewscope::ingest {

struct ReadingOf {
  const Database& database;
  const ReaderSettings& settings;
  const Session& session;
  const ExportStrings& texts;
  ProcessTable& processes;
  RowDefects& defects;

  // The times of a row, `start` and `end` in its first columns. False: it has none, or none that a clock can show.
  bool read_times(const Statement& row, LocalNs& start, int64_t& duration_ns) const;
};

}  // namespace skewscope::ingest
