// The tables of RankTables, one function each.
#pragma once

#include <vector>

#include "skewscope/base/string_table.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope::summarize {

// Empty where all rows ran on one device.
std::vector<TimelineRow> by_device(const GpuEvents& gpu);
std::vector<TimelineRow> by_step(const RankTrace& trace);
// Idle time and queue depth per stream.
void add_streams(const RankTrace& trace, RankTables& tables);
LaunchTotals launch_totals(const RankTrace& trace);
std::vector<KernelTotals> kernel_totals(const GpuEvents& gpu, const StringTable& strings);

}  // namespace skewscope::summarize
