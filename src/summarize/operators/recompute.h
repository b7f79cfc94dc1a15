// What activation checkpointing runs a second time.
#pragma once

#include <cstdint>
#include <vector>

#include "call_tree.h"

namespace skewscope::summarize {

// Per row of HostEvents: 1 where it runs within a recomputation; empty when nothing does, or python functions were not
// recorded.
std::vector<uint8_t> recomputed_rows(const HostEvents& host, const CallTree& tree, const StringTable& strings);

}  // namespace skewscope::summarize
