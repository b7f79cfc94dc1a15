// A call on a GPU repeats what its GPU row and its launch say. In a digest it says only how it differs: mostly nothing.
#pragma once

#include <vector>

#include "skewscope/model/rank_trace.h"

namespace skewscope::digest {

// The trace's calls, with start, duration and stream less those of the GPU row, launch times less those of the launch.
Column<CollectiveCall> relative_calls(const RankTrace& trace);

// The way back, for trace.calls. False: a call names a row that is not there, or not in every column.
bool make_calls_absolute(RankTrace& trace);

}  // namespace skewscope::digest
