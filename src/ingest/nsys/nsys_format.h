// SQLite exports of Nsight Systems.
#pragma once

#include <memory>

#include "src/ingest/sqlite/sqlite_reader.h"

namespace skewscope::ingest {

std::unique_ptr<SqliteFormat> make_nsys_format();

}  // namespace skewscope::ingest
