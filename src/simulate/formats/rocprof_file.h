// What rocprofv3 writes of a process with --output-format json, --kernel-trace, --memory-copy-trace, --hip-trace,
// --rccl-trace and --marker-trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulated_rank.h"

namespace skewscope::simulate {

// Of the one rank. False: it cannot be written.
bool write_rocprof_file(const std::vector<SimulatedRank>& ranks, const std::string& path);
// "node3-20004_results.json".
std::string rocprof_file_name(const TraceFile& rank, int64_t process);

}  // namespace skewscope::simulate
