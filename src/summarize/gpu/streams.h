// What streams and devices waited for.
#pragma once

#include "skewscope/model/rank_tables.h"

namespace skewscope::summarize {

// Idle time and queue depth per stream.
void add_streams(const RankTrace& trace, RankTables& tables);
std::vector<LaunchBound> launch_bound(const RankTrace& trace);

}  // namespace skewscope::summarize
