// The job with its tokens divided evenly among experts. See even_experts.cc.
#pragma once

#include <cstdint>

#include "replay.h"

namespace skewscope::blame {

// Its length; -1: no all-to-all brings some ranks more than others.
int64_t length_with_even_experts(const ReplayPlan& plan, const ReplayIsland& island);

}  // namespace skewscope::blame
