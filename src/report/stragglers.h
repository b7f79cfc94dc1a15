// Who was late, how often, at what price to the others.
#pragma once

#include <vector>

#include "rooms.h"

namespace skewscope::report {

// Ranks that were last or caused wait; most wait caused first, then by rank.
std::vector<JobReport::Straggler> stragglers_of(const Rooms& rooms);

}  // namespace skewscope::report
