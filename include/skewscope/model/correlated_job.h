// A job on one clock, the time of its collectives split: what is reported on and what is merged.
#pragma once

#include <array>
#include <optional>

#include "skewscope/model/clock_model.h"
#include "skewscope/model/decomposition.h"

namespace skewscope {

// The messages of batches are given back: `instances` has links.
struct CorrelatedJob {
  JobTrace job;
  InstanceTable instances;
  ClockModel clocks;
  Decomposition decomposition;
  std::optional<JobTrace> logged = std::nullopt;  // as of IngestedJob
};

// What all of its rooms report of the input.
inline std::array<const Findings*, 4> findings_of(const CorrelatedJob& job) {
  return {&job.job.findings, &job.instances.findings, &job.clocks.findings, &job.decomposition.findings};
}

}  // namespace skewscope
