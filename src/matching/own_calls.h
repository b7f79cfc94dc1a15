// Which group each call belongs to of the traces that this process holds, or why to none.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "call_groups.h"

namespace skewscope::matching {

// Rows of one group, by trace.
using RowsByTrace = std::map<TraceIndex, std::vector<int32_t>>;

struct OwnCalls {
  std::map<GroupKey, RowsByTrace> groups;  // rows sorted by (end, start)
  std::vector<UnmatchedCall> unmatched;
};

OwnCalls sort_own_calls(const JobTrace& job);

}  // namespace skewscope::matching
