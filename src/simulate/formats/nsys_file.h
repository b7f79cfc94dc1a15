// A session of Nsight Systems as `nsys export --type sqlite --include-blobs true` writes it (schema 3.25): tables and
// columns that a reader may ask for.
#pragma once

#include <string>
#include <vector>

#include "simulated_rank.h"

namespace skewscope::simulate {

bool write_nsys_file(const std::vector<SimulatedRank>& ranks, const std::string& path);
std::string nsys_part(const SimulatedRank& rank);

}  // namespace skewscope::simulate
