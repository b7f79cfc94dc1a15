// Instances of a report in order of time: what the page's map and chain are made of.
#pragma once

#include <cstdint>
#include <optional>
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

// The calls of each instance; the rows of one are side by side.
std::vector<std::span<const JobReport::CallRow>> calls_by_instance(const std::vector<JobReport::CallRow>& calls);

// Those that were split, by arrival. They refer to `calls`.
std::vector<TimedInstance> timed_instances(const std::vector<JobReport::CallRow>& calls);

// The member that waited longest, and the one it waited for: without wait, and closest to the end of that wait.
struct LongestWait {
  const JobReport::CallRow* victim = nullptr;
  const JobReport::CallRow* late = nullptr;
};

// nullopt: nobody waited.
std::optional<LongestWait> longest_wait(std::span<const JobReport::CallRow> calls);

}  // namespace skewscope::report
