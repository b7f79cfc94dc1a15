// A rank as PyTorch's cupti_monitor backend exports it: a trace of Perfetto. It says neither rank nor host: the file's
// name does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulated_rank.h"

namespace skewscope::simulate {

// Of the one rank. False: it cannot be written.
bool write_pftrace_file(const std::vector<SimulatedRank>& ranks, const std::string& path);
// "node3-rank20@node3.pftrace".
std::string pftrace_file_name(const TraceFile& rank, int64_t process);

}  // namespace skewscope::simulate
