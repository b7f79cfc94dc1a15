// Where the time of each rank went.
#pragma once

#include <vector>

#include "sources.h"

namespace skewscope::report {

// One row per rank, its sessions added up.
std::vector<JobReport::RankRow> rank_rows(const Sources& sources);

}  // namespace skewscope::report
