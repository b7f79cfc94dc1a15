// The tables of RankTables, one function each.
#pragma once

#include <vector>

#include "skewscope/base/string_table.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope::summarize {

// Nothing where all rows ran on one device.
void add_devices(const GpuEvents& gpu, std::vector<TimelineRow>& timeline);
void add_steps(const RankTrace& trace, std::vector<TimelineRow>& timeline);
// Idle time and queue depth per stream.
void add_streams(const RankTrace& trace, RankTables& tables);
LaunchTotals launch_totals(const RankTrace& trace);
std::vector<KernelTotals> kernel_totals(const GpuEvents& gpu, const StringTable& strings);

}  // namespace skewscope::summarize
