// What a profiler of ROCm records of a rank, whichever it is; the files of rocpd, RPD and rocprofv3's JSON say the same
// in their own tables.
#pragma once

#include <cstdint>
#include <string_view>

#include "simulated_rank.h"

namespace skewscope::simulate {

// A kernel, or a copy between the host and the GPU. `launch`: the number of the call that made it; 0: none is recorded.
struct RocmOperation {
  int64_t start_ns = 0, end_ns = 0, stream = -1, launch = 0;
  std::string_view name;
  bool is_copy = false, to_host = false;
  int64_t blocks = 1;  // of a kernel's grid, kRocmThreads threads each
};
constexpr int64_t kRocmThreads = 256, kRocmCopyBytes = 4096;

enum class RocmCallKind : uint8_t { hip, rccl, marker };

// A call of the host. `number`: of a call of HIP, which its operations name; 0: of another one.
struct RocmCall {
  RocmCallKind kind = RocmCallKind::hip;
  int64_t start_ns = 0, end_ns = 0, thread = -1, number = 0;
  std::string_view name;
};

class RocmRows {
 public:
  virtual ~RocmRows() = default;
  virtual void add(const RocmOperation& operation) = 0;
  virtual void add(const RocmCall& call) = 0;
};

// All operations, then all calls.
void walk_rocm_rows(const SimulatedRank& rank, RocmRows& rows);

}  // namespace skewscope::simulate
