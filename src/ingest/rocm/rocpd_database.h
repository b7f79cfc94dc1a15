// SQLite of ROCm: rocpd, the default output of rocprofv3 and of rocprof-sys, and RPD of rocmProfileData, which is
// older.
#pragma once

#include <memory>

#include "src/ingest/sqlite/sqlite_reader.h"

namespace skewscope::ingest {

std::unique_ptr<SqliteFormat> make_rocpd_database();
std::unique_ptr<SqliteFormat> make_rpd_database();

}  // namespace skewscope::ingest
