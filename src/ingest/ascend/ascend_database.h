// ascend_pytorch_profiler_<rank>.db: what torch_npu exports of a rank as SQLite.
#pragma once

#include <memory>

#include "src/ingest/sqlite/sqlite_reader.h"

namespace skewscope::ingest {

std::unique_ptr<SqliteFormat> make_ascend_database();

}  // namespace skewscope::ingest
