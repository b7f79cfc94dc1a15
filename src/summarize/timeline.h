// The GPU timeline of some rows of a trace.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/rank_summary.h"

namespace skewscope::summarize {

// All rows.
RankSummary timeline_of(const GpuEvents& gpu);
// `rows`: ascending, hence sorted by start.
RankSummary timeline_of(const GpuEvents& gpu, const std::vector<int32_t>& rows);

}  // namespace skewscope::summarize
