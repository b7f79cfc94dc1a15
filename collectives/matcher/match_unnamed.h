// Calls in which no trace names a group -> the members' communicators and their instances, or none of either.
//
// inferred_groups.h finds the groups. Where clocks cannot be laid over one another by time, as gloo's ends scatter by
// more than calls lie apart, the place in the step joins the calls, and every place must be proven.
#pragma once

#include "candidates.h"

namespace skewscope {

void match_unnamed(const std::vector<MemberCalls>& members, Membership membership, const MemberHints& hints,
                   TimeMatch& match);

}  // namespace skewscope
