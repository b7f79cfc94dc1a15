// Stage: a synthetic job that hangs, as the flight recorder dumps of its ranks, with its truth.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "skewscope/base/result.h"

namespace skewscope {

enum class HangKind : uint8_t {
  missing_rank,  // a rank leaves a collective out
  order,         // a rank enters two collectives the other way round
  size,          // a rank's tensor is half as long
  dead_gpu,      // a rank's GPU stops; its host goes on to its next synchronization, and may leave no dump
  stuck_host,    // a rank's host stops between two calls
  slow_host,     // a rank's host is late in every call, and has not come to the last one yet
};

struct SimulateHangOptions {
  HangKind kind = HangKind::stuck_host;
  uint64_t seed = 1;
  int32_t ranks = 16, tp = 2, pp = 2;  // data parallel size = ranks / (tp * pp)
};

struct SimulatedHang {
  std::vector<std::pair<std::string, std::string>> dumps;  // file name, bytes
  int32_t culprit = -1;
  bool culprit_dumped = true;
  std::string truth;  // truth.json
};

// Equal options give equal bytes. Errors: usage (sizes that do not divide).
Result<SimulatedHang> simulated_hang(const SimulateHangOptions& options);
// The same as a folder. Errors: output, where it exists (unless `force`).
Result<Done> write_simulated_hang(const SimulateHangOptions& options, const std::string& directory, bool force);

const char* to_string(HangKind kind);

}  // namespace skewscope
