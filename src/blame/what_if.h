// What the job would gain if one rank, or all, worked at their peers' pace.
//
// The share of a rank is what its replay saves, of what the replay with every rank at its peers' pace saves (Wu et al.
// 2025: M = (T - T_r) / (T - T_all)). Replayed are the ranks that wait was traced back to most, and others beside them.
// A rank stands out when its share is a tenth, more than twice that of the third most, and saves a hundredth of the
// job: jitter alone makes some rank the most blamed one of every job. Where nobody does, the most blamed are replayed
// together (a slow node). A stage of a pipeline that is longer than the others makes no rank of it stand out: the ranks
// of each program are also replayed at the mean work of all (M_S of the same source). Nothing is concluded where the
// unchanged replay misses the recorded length, ranks have no GPU rows, or most time in calls is not told apart. What is
// saved is a bound where calls that are not matched, or miss a member, hold waiting that no replay takes away, and
// where ranks that share a GPU compute at once: their peers' pace is slowed by the same work. Either counts from two
// hundredths of the job on. Cost: one replay each.
#pragma once

#include "replay.h"
#include "skewscope/model/blame.h"

namespace skewscope::blame {

// The job as it was, with every rank at its peers' pace, and without transfers.
Replay replay_job(const ReplayPlan& plan);

// `job`: what replay_job() says; blame keeps of it what can be concluded. `at_once_ns`: of computing_at_once_ns(). Asks
// for the origins of propagate().
void what_if(const ReplayPlan& plan, const Replay& job, int64_t at_once_ns, Blame& blame);

}  // namespace skewscope::blame
