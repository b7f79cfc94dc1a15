// Kernels by the operators and python functions around their launch.
#pragma once

#include "operator_view.h"

namespace skewscope::summarize {

constexpr size_t kMostStacks = 200, kMostFrames = 40;

void add_stacks(const OperatorView& view, OperatorTables& tables);

}  // namespace skewscope::summarize
