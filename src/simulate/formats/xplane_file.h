// A profile of JAX (XSpace) of the GPUs of a node, as XLA's profiler lays it out: one plane a device, one of the host,
// one of the programs.
#pragma once

#include <string>
#include <vector>

#include "simulated_rank.h"

namespace skewscope::simulate {

bool write_xplane_file(const std::vector<SimulatedRank>& ranks, const std::string& path);
std::string xplane_part(const SimulatedRank& rank);

}  // namespace skewscope::simulate
