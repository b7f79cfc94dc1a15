// The tables of torch.compile and of captured graphs.
#pragma once

#include "operator_view.h"

namespace skewscope::summarize {

// Regions, what runs around their kernels, Triton kernels.
void add_compiled(const OperatorView& view, OperatorTables& tables);
// Sorted by name, then by GPU rows per launch.
void add_graphs(const OperatorView& view, OperatorTables& tables);

}  // namespace skewscope::summarize
