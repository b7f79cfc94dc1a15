// What rocprofv3 writes of a process with --kernel-trace --memory-copy-trace --hip-trace --rccl-trace --marker-trace: a
// rocpd of one run (schema 3.0).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulated_rank.h"

namespace skewscope::simulate {

// Of the one rank. False: it cannot be written.
bool write_rocpd_file(const std::vector<SimulatedRank>& ranks, const std::string& path);
// "node3-20004_results.db".
std::string rocpd_file_name(const TraceFile& rank, int64_t process);

}  // namespace skewscope::simulate
