// A rank as torch_npu's profiler exports it: one database for each rank of Ascend NPUs.
#pragma once

#include <string>
#include <vector>

#include "simulated_rank.h"

namespace skewscope::simulate {

// "node0-ascend_pytorch_profiler_3.db".
std::string ascend_file_name(const TraceFile& rank, int64_t process_id);

// The database of the one rank. The waits in it are those that happened. False: it cannot be written.
bool write_ascend_file(const std::vector<SimulatedRank>& ranks, const std::string& path);

}  // namespace skewscope::simulate
