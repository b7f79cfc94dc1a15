// Problem: one number per kind of loss, so that runs compare and a loss has a name.
// Idea: the multiplicative model of POP (computing U of elapsed E) and its GPU form by TALP (U, and A = U + exposed
// communication + exposed copies). With P ranks, sums and maxima over ranks:
//   parallel = sum U / (P E) = load_balance * communication,   load_balance = sum U / (P max U),
//   communication = max U / E = gpu_communication * orchestration,   gpu_communication = max U / max A,
//   orchestration = max A / E.
//   communication = serialization * transfer,   transfer = length of the job on a network that takes no time / length,
// both replayed (src/blame); no network makes a job shorter than its longest computing rank, nor longer than it was.
// E is the longest rank's timeline.
// Ranks without GPU rows are left out: nothing is known of what they computed.
// Source: POP centre of excellence, "Standard metrics for performance analysis"; TALP (DLB); arXiv 2603.26576.
#include "efficiency.h"

#include <algorithm>

namespace skewscope::report {

JobReport::Efficiency efficiency_of(const std::vector<JobReport::RankRow>& ranks, const JobReport::WhatIf& what_if) {
  double sum_compute = 0, max_compute = 0, max_active = 0, elapsed = 0, count = 0;
  for (const JobReport::RankRow& r : ranks) {
    if (r.total_ns <= 0) continue;
    const auto compute = static_cast<double>(r.compute_ns);
    const double active = compute + static_cast<double>(r.exposed_communication_ns + r.exposed_memcpy_ns);
    count += 1;
    sum_compute += compute;
    max_compute = std::max(max_compute, compute);
    max_active = std::max(max_active, active);
    elapsed = std::max(elapsed, static_cast<double>(r.total_ns));
  }
  JobReport::Efficiency e;
  if (elapsed <= 0) return e;
  e.parallel = sum_compute / (count * elapsed);
  e.communication = max_compute / elapsed;
  e.orchestration = max_active / elapsed;
  if (max_compute > 0) e.load_balance = sum_compute / (count * max_compute);
  if (what_if.replayed_ns > 0 && what_if.no_transfer_ns > 0) {
    const double transfer = static_cast<double>(what_if.no_transfer_ns) / static_cast<double>(what_if.replayed_ns);
    e.transfer = std::clamp(transfer, e.communication, 1.0);
    e.serialization = e.communication / e.transfer;
  }
  if (max_active > 0) e.gpu_communication = max_compute / max_active;
  return e;
}

}  // namespace skewscope::report
