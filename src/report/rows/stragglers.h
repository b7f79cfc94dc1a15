// Who was late, how often, at what price to the others.
#pragma once

#include <vector>

#include "rooms.h"

namespace skewscope::report {

// Ranks that were last, caused wait or are where wait began: causes first; then by the wait that began with them and is
// not the program's, by the wait charged directly, by rank.
std::vector<JobReport::Straggler> stragglers_of(const Rooms& rooms);
std::vector<JobReport::CauseRow> cause_rows(const Rooms& rooms);
std::vector<JobReport::FlowRow> flow_rows(const Rooms& rooms);

}  // namespace skewscope::report
