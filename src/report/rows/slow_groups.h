// Groups that move their bytes slower than groups like them: what a slow link looks like, for it makes nobody late.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

struct SlowGroup {
  const JobReport::CommunicatorRow* group = nullptr;
  double gb_per_s = 0,
         peers_gb_per_s = 0;  // median bus bandwidth of the calls that lose most, and of its peers' median
  int64_t excess_ns = 0;      // exposed transfer of one member beyond what the peers take, over the window
};

// Most excess first. Pointers into `report`.
std::vector<SlowGroup> slow_groups(const JobReport& report);

}  // namespace skewscope::report
