// Calls of the runtime and driver, and what waiting ones cost.
#pragma once

#include <vector>

#include "skewscope/base/string_table.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope::summarize {

// Rows of one kind, which is `call` or `overhead`. Longest total first, then by name.
std::vector<HostCallTotals> host_call_totals(const RankTrace& trace, const HostEvents& host, HostKind kind,
                                             const StringTable& strings);

}  // namespace skewscope::summarize
