// What the job would gain if one rank, or all, worked at their peers' pace.
//
// The share of a rank is what its replay saves, of what the replay with every rank at its peers' pace saves (Wu et al.
// 2025: M = (T - T_r) / (T - T_all)). Replayed are the ranks that blame was traced back to most, and beside them some
// that it was not: a suspect stands out when its share is more than twice the largest of those, and a tenth. A stage of
// a pipeline that is longer than the others makes no rank of it stand out: ranks of one program are also replayed
// together, at the mean work of the other programs (M_S of the same source). Cost: one replay each.
#pragma once

#include "replay.h"
#include "skewscope/model/blame.h"

namespace skewscope::blame {

void what_if(const ReplayPlan& plan, Blame& blame);

}  // namespace skewscope::blame
