// Calls in the order that RankTrace promises, with all that refers to them.
#pragma once

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

void sort_calls(LinkedTrace& linked);

}  // namespace skewscope::ingest
