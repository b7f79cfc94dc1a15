// What blocks a rank, asked of its replay: by how much it would be through earlier if its calls took no time and waited
// for nobody. Where its host has time to spare, that is the exposed time that blocks (blocking.h); else launches hold
// up what calls do not any more, and it is less. Cost: one run of the line.
#pragma once

#include "src/blame/line/rank_line.h"

namespace skewscope::blame {

// -1: a rank without GPU rows, or replayed with its calls as recorded it does not come to the recorded length.
int64_t saved_by_instant_calls(const JobView& view, TraceIndex trace, const RankLine& line);

}  // namespace skewscope::blame
