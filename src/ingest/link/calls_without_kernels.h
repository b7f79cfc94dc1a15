// Collectives that the host recorded and no communication kernel ran for: they ran as copies, or their kernels are in
// no row.
#pragma once

#include <map>
#include <vector>

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// A collective on copy engines, as NCCL 2.28 makes them (zero-CTA policy), and symmetric memory.
struct CopiedCall {
  int32_t op = -1;         // row of comm_ops: the range or operator in which its copies were launched
  int32_t first_row = -1;  // of its copies, which follow one another
  LocalNs start, end;      // of the first, of the last
  int64_t copying_ns = 0;
};

struct CallsWithoutKernels {
  std::vector<CopiedCall> copied;             // by row of comm_ops
  std::vector<int32_t> copies;                // their GPU rows
  std::map<CollectiveKind, int64_t> unknown;  // that ran as kernels which are not known to communicate
  StringId unknown_kernel;                    // the first of these
  std::map<CollectiveKind, int64_t> lost;     // whose time is in no row
};

// `served`: by row of comm_ops, whether a communication kernel was launched in it.
CallsWithoutKernels calls_without_kernels(const FileContent& content, const std::vector<bool>& served);

// What they mean, for the file.
void report_calls_without_kernels(const CallsWithoutKernels& calls, FileContent& content);

}  // namespace skewscope::ingest
