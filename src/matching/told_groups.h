// The groups that were found where no trace names one, for those whose own calls do not tell: the axes of a mesh of
// ranks cross each other, so groups found on one stream say which are likely on another.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "call_groups.h"

namespace skewscope::matching {

// Per stream, as key without group: the number of each trace's group.
using ToldGroups = std::map<GroupKey, std::map<TraceIndex, int32_t>>;

// Of settled inferred groups of all processes; the same in all.
ToldGroups told_groups(const std::vector<CallGroup>& groups, const std::vector<MatchOutcome>& outcomes,
                       Exchange& exchange);

// Of other streams of the group's session, for MemberHints::group_beside; empty where the group is named.
std::vector<std::vector<int32_t>> groups_beside(const CallGroup& group, const ToldGroups& told);

}  // namespace skewscope::matching
