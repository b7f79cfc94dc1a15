// Stage: one trace -> RankSummary, the single-GPU timeline, and RankTables, what else its GPU rows tell.
#pragma once

#include <vector>

#include "skewscope/model/rank_figures.h"
#include "skewscope/model/rank_summary.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope {

RankSummary summarize_trace(const RankTrace& trace);
// Row = TraceIndex; parallel over traces, each in the process that holds it; all get all.
std::vector<RankSummary> summarize_job(const JobTrace& job, Exchange& exchange = alone());

// `strings`: of the names of the trace's rows. `detail`: of the same trace; nullptr where it was not read.
RankTables tabulate_trace(const RankTrace& trace, const StringTable& strings, const RankDetail* detail = nullptr);

// What of the tables is compared across ranks.
RankFigures figures_of(const RankTables& tables);
// Row = TraceIndex; each trace in the process that holds it; process 0 gets all.
std::vector<RankFigures> figures_of_job(const JobTrace& job, Exchange& exchange = alone());

}  // namespace skewscope
