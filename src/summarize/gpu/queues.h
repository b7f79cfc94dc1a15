// How much was launched and had not begun.
#pragma once

#include <vector>

#include "skewscope/model/rank_tables.h"

namespace skewscope::summarize {

// `rows`: of one stream, ascending. Adds its QueueDepth and its depth over time.
void add_queue(const RankTrace& trace, const std::vector<size_t>& rows, RankTables& tables);

}  // namespace skewscope::summarize
