// What a rank's clock shows at a true time. Times of the simulation are true nanoseconds since `reference_ns`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/simulate.h"
#include "topology.h"

namespace skewscope::simulate {

// local = reference_ns + t + offset_ns + drift * t
struct RankClock {
  int64_t reference_ns = 0;  // Unix time of the job's true time 0
  int64_t offset_ns = 0;
  double drift = 0;  // seconds gained per second

  int64_t to_local(int64_t true_ns) const;
};

// One offset and drift per node, uniform in the options' bounds, plus a constant 1 us (sigma) per GPU.
std::vector<RankClock> make_clocks(const SimulateOptions& options, const Topology& topology);

}  // namespace skewscope::simulate
