// What the details of GPU rows tell: kernels by shape, copies by kind, how full the GPU was.
#pragma once

#include <vector>

#include "skewscope/base/string_table.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope::summarize {

std::vector<KernelVariant> kernel_variants(const GpuEvents& gpu, const RankDetail& detail, const StringTable& strings);
std::vector<CopyTotals> copy_totals(const GpuEvents& gpu, const GpuDetails& details, const StringTable& strings);
Utilization utilization_of(const RankTrace& trace, const RankDetail& detail);

}  // namespace skewscope::summarize
