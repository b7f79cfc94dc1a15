// The tables of RankTables, one function each.
#pragma once

#include <vector>

#include "skewscope/base/string_table.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope::summarize {

// Nothing where all rows ran on one device.
void add_devices(const RankTrace& trace, std::vector<TimelineRow>& timeline);
// Steps and what is in none, in the order of time; then steps in which nothing was launched.
void add_steps(const RankTrace& trace, std::vector<TimelineRow>& timeline);
// What ran in spans that lie end to end.
std::vector<RankSummary> timelines_of(const RankTrace& trace, const std::vector<StepSpan>& spans);
// The whole window in at most 400 equal parts.
std::vector<TimelineBin> timeline_bins(const RankTrace& trace);
// GPU rows launched inside each step, ascending; row = row of trace.steps.
std::vector<std::vector<int32_t>> rows_by_step(const RankTrace& trace);
std::vector<WorkTogether> work_together(const RankTrace& trace);
LaunchTotals launch_totals(const RankTrace& trace);
// What of the launches' delays and of the idle time the profiler's work on its buffers explains.
void add_profiler_work(const RankTrace& trace, const HostEvents& host, const StringTable& strings, RankTables& tables);
std::vector<KernelTotals> kernel_totals(const GpuEvents& gpu, const StringTable& strings);

}  // namespace skewscope::summarize
