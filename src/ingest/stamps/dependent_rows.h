// Kernels that are resident on their stream while the one before them still runs.
#pragma once

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// Lets the work of such a kernel begin where the one before it ends, as its row from there on; says how many there are
// (waiting-kernels). `content.gpu` is sorted by start, and stays so where none waited: false.
bool begin_behind_predecessors(FileContent& content);

}  // namespace skewscope::ingest
