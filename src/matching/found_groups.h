// The groups that were found where no trace names one, for those whose own calls do not tell: the axes of a mesh of
// ranks cross each other, so groups found on one stream say which are likely on another.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "call_groups.h"

namespace skewscope::matching {

struct FoundGroups {
  std::map<GroupKey, std::map<TraceIndex, int32_t>> by_stream;  // the number of each trace's group
  std::map<SessionId, bool> all_agree;                          // of all calls that no trace names
};

// From the outcomes of all processes; the same in all.
FoundGroups found_groups(const std::vector<CallGroup>& groups, const std::vector<MatchOutcome>& outcomes,
                         Exchange& exchange);

// The members' groups on other streams of the session, for MemberHints::group_on_other_streams; empty where the group
// is named.
std::vector<std::vector<int32_t>> groups_of_other_streams(const CallGroup& group, const FoundGroups& found);

// Whether nothing holds groups of these members in line (MemberHints::alone).
bool is_alone(const CallGroup& group, const FoundGroups& found);

}  // namespace skewscope::matching
