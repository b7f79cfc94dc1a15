// Calls in which no trace names a group -> the members' communicators and their instances, or none of either.
//
// Close ends alone may be those of any of several groups that run the same program side by side. All members are one
// group where they held each other up (group_proof.h), or, where arrivals are too close to tell and nothing speaks
// against it, where all ends agree to microseconds. Several groups are told apart, where no rank is missing, by ends
// that lie clearly closer within than between, in groups of one size, each of which must be proven. Where clocks cannot
// be laid over one another by time, as gloo's ends scatter by more than calls lie apart, the place in the step joins
// the calls, and every place must be proven.
#pragma once

#include "collectives/match_rows.h"

namespace skewscope {

void match_unnamed(const std::vector<MemberCalls>& members, Membership membership, const ClockHints& hints,
                   Timed& timed);

}  // namespace skewscope
