// How well ends that must agree do agree on the common clock.
#pragma once

#include <array>

#include "src/report/rows/timed_instances.h"

namespace skewscope::report {

// Upper edges of the histogram's bins, ns; the last bin has none.
constexpr std::array<int64_t, 14> kResidualEdges = {100,    200,    500,     1000,    2000,    5000,      10'000,
                                                    20'000, 50'000, 100'000, 200'000, 500'000, 1'000'000, 10'000'000};

struct ClockResiduals {
  struct Of {
    int32_t rank = 0;
    int64_t count = 0, sum_ns = 0, absolute_ns = 0, largest_ns = 0;  // of end - the middle member's end
  };
  std::vector<Of> ranks;
  // Calls by how much their end was before, or not before, that of the member in the middle.
  std::array<int64_t, kResidualEdges.size() + 1> before{}, after{};
};

ClockResiduals clock_residuals(const std::vector<TimedInstance>& instances);

}  // namespace skewscope::report
