// The tables of GPU rows: by launcher, name, stream and shape; short kernels; the rank's collectives.
#pragma once

#include "operator_view.h"

namespace skewscope::summarize {

// Sorted by sum, longest first, then by name, launcher, stream.
void add_kernels(const OperatorView& view, OperatorTables& tables);
// Kernels shorter than the options say, in bins of equal width from the shortest to the longest of them; and those with
// an operator as launcher, by its arguments.
void add_short_kernels(const OperatorView& view, OperatorTables& tables);
void add_collectives(const OperatorView& view, OperatorTables& tables);

}  // namespace skewscope::summarize
