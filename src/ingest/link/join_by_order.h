// Kernels of collectives whose correlation is none (ROCm 6.1 gave all RCCL kernels 0), joined to their launches.
#pragma once

#include "range_index.h"
#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// Ranges and records of collectives on the GPU: what is launched in one is the collective's.
RangeIndex<CommOpRow> collective_ranges(const FileContent& content);

// After join_launches(). Says how many were joined (joined-by-order) and of how many nothing tells the launch
// (order-unknown).
void join_by_order(FileContent& content);

}  // namespace skewscope::ingest
