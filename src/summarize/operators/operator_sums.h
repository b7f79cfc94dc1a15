// The tables of launchers: by category, by name, by arguments.
#pragma once

#include "launching.h"

namespace skewscope::summarize {

// Sorted by direct time, longest first, then by name.
void add_categories(const OperatorView& view, const LaunchingInstances& instances, OperatorTables& tables);
void add_operators(const OperatorView& view, const LaunchingInstances& instances, OperatorTables& tables);
// Sorted by direct time, longest first, then by place.
void add_arguments(const OperatorView& view, const LaunchingInstances& instances, OperatorTables& tables);

}  // namespace skewscope::summarize
