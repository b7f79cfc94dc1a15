// The tables of what is around operators: nn.Modules and annotations.
#pragma once

#include "operator_view.h"

namespace skewscope::summarize {

// Sorted by GPU time, longest first, then by name.
void add_modules(const OperatorView& view, OperatorTables& tables);
// Sorted by total time, longest first, then by name.
void add_annotations(const OperatorView& view, OperatorTables& tables);

}  // namespace skewscope::summarize
