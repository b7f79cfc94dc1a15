// Forward operators with their backward nodes.
#pragma once

#include "operator_view.h"

namespace skewscope::summarize {

void add_passes(const OperatorView& view, OperatorTables& tables);

}  // namespace skewscope::summarize
