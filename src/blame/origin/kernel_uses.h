// Which kernels a rank ran within a span, how often and how long: counted in the process that holds the trace's rows,
// sent to process 0, which compares ranks.
#pragma once

#include <array>
#include <vector>

#include "skewscope/base/exchange.h"
#include "skewscope/model/job_trace.h"

namespace skewscope::blame {

struct KernelUse {
  StringId name;
  int64_t rows = 0, ns = 0;
};
using KernelUses = std::vector<KernelUse>;  // by name

struct KernelSpan {
  TraceIndex trace;
  LocalNs from, to;  // of starts
};

// Computing rows that start within each span, of two that are to be compared; nothing of either where one process holds
// both and they ran the same in the same order. `pairs` are process 0's, and so is the result, row by row.
std::vector<std::array<KernelUses, 2>> kernel_uses(const JobTrace& job, std::vector<std::array<KernelSpan, 2>> pairs,
                                                   Exchange& exchange);

// The same, counted whatever they ran.
std::vector<std::array<KernelUses, 2>> all_kernel_uses(const JobTrace& job,
                                                       std::vector<std::array<KernelSpan, 2>> pairs,
                                                       Exchange& exchange);

// Time of kernels that one ran and the other did not, or not as often: for each name the surplus of rows times their
// mean duration.
int64_t surplus_ns(const KernelUses& late, const KernelUses& peer);

}  // namespace skewscope::blame
