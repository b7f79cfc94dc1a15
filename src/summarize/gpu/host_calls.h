// Calls of the runtime and driver, and what waiting ones cost.
#pragma once

#include <string_view>
#include <vector>

#include "skewscope/base/string_table.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope::summarize {

// Whether a call of this name returns only when GPU work has ended.
bool waits_for_gpu(std::string_view name);

// Rows of one kind, which is `call` or `overhead`. Longest total first, then by name.
std::vector<HostCallTotals> host_call_totals(const RankTrace& trace, const HostEvents& host, HostKind kind,
                                             const StringTable& strings);

}  // namespace skewscope::summarize
