// Stage: one trace -> RankSummary, the single-GPU timeline.
#pragma once

#include <vector>

#include "skewscope/model/rank_summary.h"

namespace skewscope {

RankSummary summarize_trace(const RankTrace& trace);
// Row = TraceIndex; parallel over traces.
std::vector<RankSummary> summarize_job(const JobTrace& job);

}  // namespace skewscope
