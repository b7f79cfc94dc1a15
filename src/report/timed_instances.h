// Instances of a report in order of time: what the page's map and chain are made of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

struct TimedInstance {
  std::span<const JobReport::CallRow> calls;  // of its members, as in JobReport::calls
  int64_t arrival_ns = 0;                     // of the last member
  int64_t step = -1;  // the members' latest; where they name none, that of the instance before; -1: none yet
  int64_t wait_ns = 0;
};

// Those that were split, by arrival. They refer to `calls`, whose rows of one instance stand side by side.
std::vector<TimedInstance> timed_instances(const std::vector<JobReport::CallRow>& calls);

}  // namespace skewscope::report
