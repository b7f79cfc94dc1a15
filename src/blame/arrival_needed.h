// The arrival that each member of a collective has to wait for before it can finish.
#pragma once

#include <cstdint>
#include <vector>

#include "job_view.h"

namespace skewscope::blame {

// `starts`: when the members of the instance arrive. Never before the member's own. Where it is not known who waits for
// whom: its own.
std::vector<int64_t> arrivals_needed(const JobView& view, size_t id, const std::vector<int64_t>& starts);

}  // namespace skewscope::blame
