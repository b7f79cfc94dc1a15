// Problem: who arrives late may only have waited for somebody else before. Charging the last to arrive points at
// victims (src/align/METHOD.md, section 7: on production jobs with known causes the culprit came third).
// Idea: go through the collectives from the last to the first. What a member is charged there is split: the share of
// its lateness that it spent waiting in other groups since its members last left a collective together moves to those
// earlier collectives, in proportion to its exposed waits, and there to those it was waiting for (gap by gap, in equal
// parts to those still awaited, as the direct charge is: the airport game). The rest stays, by what else the time was
// spent on. Why right: a collective is settled once, after all that can move blame into it; charges are whole
// nanoseconds and every split sums to what was split, so origins sum to the direct charges. Cost: O(members log
// members + waits looked at). Source: Boehme et al. 2016 (Scalasca's delay analysis).
#pragma once

#include "late_member.h"

namespace skewscope::blame {

// Fills direct, origin and both books of every trace, in process 0; the others count the kernels of their traces.
void propagate(const ReplayPlan& plan, const MemberBooks& books, Exchange& exchange, Blame& blame);

}  // namespace skewscope::blame
