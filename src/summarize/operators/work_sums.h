// The table of work: FLOPs and bytes of operators, and how fast the GPU did them.
#pragma once

#include "operator_view.h"

namespace skewscope::summarize {

// Sorted by GPU time, longest first, then by place.
void add_work(const OperatorView& view, OperatorTables& tables);

}  // namespace skewscope::summarize
