// Where the line of a GPU's work is idle: idling that calls or launches explain.
//
// A row begins once the line, the call it joins and its launch allow it. Which of them came last is what the idling in
// front of it was for; the others are kept where the replay may make them come last. A row behind no idling is kept
// where its launch came with less time to spare than those in front: while the line comes forward by no more than the
// least of them, a row launched earlier than that holds nothing up. Where rows in turn all waited for their launches
// alone, the first and the last are enough: the line comes forward as far as the host does, by their idling at most.
// Cost: two passes over the rows.
#pragma once

#include <vector>

#include "rank_line.h"

namespace skewscope::blame {

// How long a launch takes to arrive: the lower quarter over rows that the idle GPU began when they were launched; where
// there are none, the least over all rows, and no more than is usual: a host that always runs ahead never shows it.
int64_t launch_latency_ns(const GpuEvents& gpu, const LaunchEvents& launches);
// From when `launch_ns` lets a start at `start_ns` happen at the earliest. Unknown where it came behind the start.
Launch launch_at(int64_t launch_ns, int64_t start_ns, int64_t latency_ns);

// `ends`: of the calls, by time. All on the rank's own clock.
Column<Stop> line_stops(const RankTrace& trace, const std::vector<CallEnd>& ends, int64_t latency_ns);
// Leaves out stops inside a run of those that wait for launches alone. `bounds`, by time: where the line is asked where
// it is, and runs end.
void merge_launch_stops(const std::vector<int64_t>& bounds, Column<Stop>& stops);

}  // namespace skewscope::blame
