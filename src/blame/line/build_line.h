// The line of one trace that is held here: its forks, its stops, and its host's part.
#pragma once

#include "rank_line.h"

namespace skewscope::blame {

RankLine build_line(const JobView& view, TraceIndex trace);

}  // namespace skewscope::blame
