// What the job would gain if one rank, or all, worked as fast as their peers.
//
// The share of a rank is what its replay saves, of what the replay with every rank as fast as its peers saves (Wu et
// al. 2025: M = (T - T_r) / (T - T_all)). Replayed are the ranks that wait was traced back to most, and others next to
// them. A rank differs clearly when its share is a tenth, more than twice that of the third most, and saves a hundredth
// of the job: jitter alone makes some rank the most blamed one of every job. Where nobody does, the most blamed are
// replayed together (a slow node). A stage of a pipeline that is longer than the others makes no rank of it differ
// clearly: the ranks of each program are also replayed at the mean work of all (M_S of the same source). Nothing is
// concluded where the unchanged replay misses the recorded length, ranks have no GPU rows, or most time in calls is not
// split. What is saved is a bound where calls that are not matched, or miss a member, hold waiting that no replay takes
// away, and where ranks that share a GPU compute at once: their peers' speed is lowered by the same work. Either counts
// from two hundredths of the job on. Cost: one replay each.
#pragma once

#include "replay.h"
#include "skewscope/model/blame.h"

namespace skewscope::blame {

// The island's job as it was, with every rank as fast as its peers, and without transfers.
Replay replay_job(const ReplayPlan& plan, const ReplayIsland& island);

// `job`: what replay_job() says of the island; what can be concluded of it is kept. `at_once_ns`: of
// computing_at_once_ns(). `traces`: of the job; asks for the origins of propagate(), and judges those of the island.
IslandBlame what_if(const ReplayPlan& plan, const ReplayIsland& island, const Replay& job, Pipeline pipeline,
                    int64_t at_once_ns, std::vector<TraceBlame>& traces);

}  // namespace skewscope::blame
