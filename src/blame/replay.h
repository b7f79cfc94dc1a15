// The job again, from its local work and its collectives: how long it takes when some ranks work at their peers' pace,
// or the network takes no time.
//
// Idea: the collectives in the order of their last arrivals; each lets its members' lines run to its forks, waits for
// whom it has to wait for (collectives/synchronization.h), and ends at each member as long after that arrival as it
// did. Lines stand still at their joins until the joined call has ended. Unchanged, the replay gives the recorded
// length; how nearly is reported beside it. Cost: O(forks + joins) per run. Source: the what-if analysis of Wu et al.
// 2025 (OSDI, "stragglers in LLM training"), on streams instead of operations.
#pragma once

#include <vector>

#include "rank_line.h"

namespace skewscope::blame {

// Per trace and fork: the pace of ranks that run the same program. A rank's peers in a step are those whose calls in it
// have the same operations, group sizes and roles in the same order; pace = the median of their local work and delays.
struct Pace {
  double work = 1;       // factor on the work in front of the fork, at most 1
  int64_t delay_ns = 0;  // at most the fork's own
};
using Paces = std::vector<std::vector<Pace>>;

// Calls of several ranks at the same place of one program: rows of table.members.
struct Place {
  std::vector<int32_t> rows;
};

struct ReplayPlan {
  const JobView& view;
  std::vector<RankLine> lines;  // per trace
  Paces paces;
  std::vector<Place> places;
  std::vector<int32_t> place_of_row;  // of member rows; -1: nobody runs the same program
  std::vector<size_t> order;          // instances by last arrival
  std::vector<int32_t> fork_of_row;   // of the member's line
  std::vector<int64_t> tail_ns;       // per member row: from the arrival it waited for to its end
};

ReplayPlan plan_replay(const JobView& view);
// Per instance: whether at least half of its members' lines joined it, so that computation stood still.
std::vector<bool> blocking_instances(const ReplayPlan& plan);

struct Change {
  std::vector<bool> at_peers_pace;  // per trace
  std::vector<double> work;         // per trace: factor on its local work
  bool no_transfer = false;
};
Change no_change(const ReplayPlan& plan);

// Length of the job: from the first line's start to the last end.
int64_t replay(const ReplayPlan& plan, const Change& change);
int64_t recorded_length(const ReplayPlan& plan);

}  // namespace skewscope::blame
