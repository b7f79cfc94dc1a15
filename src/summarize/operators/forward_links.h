// Which forward operator a backward one belongs to.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/rank_detail.h"

namespace skewscope::summarize {

// Row of HostEvents -> row there; -1: no backward row, or its forward was not recorded.
std::vector<int32_t> forward_rows(const HostEvents& host);

}  // namespace skewscope::summarize
