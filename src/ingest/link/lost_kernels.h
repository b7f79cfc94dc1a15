// Kernels that the host launched and no row tells of, in a trace that has rows of others: the profiler lost them.
#pragma once

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// After join_launches() and join_by_order(), with the correlations. Adds what is lost to the findings of the file.
void report_lost_kernels(FileContent& content);

}  // namespace skewscope::ingest
