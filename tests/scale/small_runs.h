// Reports of runs made by hand: every expected number follows from what a test states.
#pragma once

#include <string>

#include "skewscope/scale.h"

namespace skewscope::test {

// `ranks` ranks that each compute `compute_ns` in every step of the given lengths. Efficiencies are set by the test.
inline NamedReport run(const std::string& name, int32_t ranks, const std::vector<int64_t>& steps, int64_t compute_ns) {
  NamedReport named;
  named.name = name;
  JobReport& report = named.report;
  report.job.world_size = ranks;
  JobReport::CommunicatorRow all;
  all.desc = "default_pg";
  all.size = ranks;
  for (int32_t r = 0; r < ranks; ++r) {
    all.ranks.push_back(r);
    JobReport::RankRow row;
    row.rank = r;
    row.total_ns = 1;
    row.compute_ns = compute_ns * static_cast<int64_t>(steps.size());
    report.ranks.push_back(row);
  }
  report.communicators = {all};
  for (size_t s = 0; s < steps.size(); ++s) {
    const auto number = static_cast<int64_t>(s);
    JobReport::StepRow step;
    step.step = number;
    step.duration_ns = steps[s];
    step.ranks = ranks;
    step.gpu_rows = 100 * ranks;
    step.collectives = 10 * ranks;
    report.steps.push_back(step);
    report.job.step_basis = StepBasis::gpu;
    for (int32_t r = 0; r < ranks; ++r) {
      JobReport::RankStep part;
      part.rank = r;
      part.step = number;
      part.compute_ns = compute_ns;
      part.idle_ns = steps[s] - compute_ns;
      report.rank_steps.push_back(part);
    }
  }
  return named;
}

inline void set_efficiency(NamedReport& named, double load_balance, double serialization, double transfer) {
  JobReport::Efficiency& e = named.report.efficiency;
  e.load_balance = load_balance;
  e.serialization = serialization;
  e.transfer = transfer;
  e.communication = serialization * transfer;
  e.parallel = load_balance * e.communication;
  e.gpu_communication = e.communication;
  e.orchestration = 1;
}

}  // namespace skewscope::test
