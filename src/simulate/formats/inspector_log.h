// The calls of ranks as NCCL's Inspector logs them: one file for each rank, as of one process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulated_rank.h"

namespace skewscope::simulate {

struct InspectorLogOptions {
  int64_t process_id = 0;
  bool verbose = true;                    // with the times of a channel
  bool markers = false;                   // version 4.4: one header for each dump; else 4.2: in every line
  int64_t dump_every_ns = 1'000'000'000;  // what ended until then is written then
  std::string algorithm = "RING", protocol = "SIMPLE";
};

// The log of one rank: its calls as linked, which group and own rank are told of. Of a call without group there is no
// line.
std::string inspector_log(const TraceFile& rank, const InspectorLogOptions& options);

// "<host>-pid<pid>.log".
std::string inspector_log_name(const TraceFile& rank, int64_t process_id);

// The log of the one rank: of 4.4 with times, or of 4.2 without. False: it cannot be written.
bool write_inspector_log(const std::vector<SimulatedRank>& ranks, const std::string& path);
bool write_inspector_durations(const std::vector<SimulatedRank>& ranks, const std::string& path);

}  // namespace skewscope::simulate
