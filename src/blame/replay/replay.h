// The job again, from its local work and its collectives: how long it takes when some ranks work as fast as their
// peers, or the network takes no time.
//
// Idea: the starts and ends of all calls in recorded order. At a start the rank's line runs to the call's fork; at an
// end the call waits for whom it has to wait for (collectives/synchronization.h) and ends as long after that arrival as
// it did. Lines are idle until what they join has ended and what they run next is launched (line_runner.h). Why in
// that order: whatever a start or an end depends on was recorded before it. Unchanged, the replay gives the recorded
// length; how nearly is reported with it, and where it does not nothing is concluded. Sessions are jobs of their own:
// their lengths add up. Islands of ranks that nobody compared are replayed one by one. A line begins when it was
// recorded to begin, or as its host's speed from its first step on makes it begin; one whose recording begins in a
// later step than others' begins as much earlier as the job is by then. Cost: O(forks + stops) per run, one sort;
// kAbreast changes are one run (line_runner.h). Source: the what-if analysis of Wu et al. 2025 (OSDI, "stragglers in
// LLM training"), on streams instead of operations.
#pragma once

#include <compare>
#include <vector>

#include "line_runner.h"
#include "skewscope/model/clock_components.h"
#include "wait_rule.h"

namespace skewscope::blame {

// Calls of several ranks at the same place of one program: rows of table.members.
struct Place {
  std::vector<int32_t> rows;
};

// The start or the end of a member's call.
class Moment {
 public:
  Moment() = default;
  Moment(size_t row, bool is_end) : number_(2 * static_cast<uint32_t>(row) + (is_end ? 1 : 0)) {}
  size_t row() const { return number_ / 2; }
  bool is_end() const { return number_ % 2 != 0; }
  auto operator<=>(const Moment&) const = default;

 private:
  uint32_t number_ = 0;
};

// An operation in one kind of group.
struct Operation {
  int32_t group_kind = -1;
  CollectiveKind kind = CollectiveKind::unknown;
  friend auto operator<=>(const Operation&, const Operation&) = default;
};

// Ranks that are compared, and their calls.
struct ReplayIsland {
  std::vector<TraceIndex> traces;
  std::vector<Moment> moments;  // of add_moments(): in recorded order
  size_t instances = 0, rows = 0;
};

struct ReplayPlan {
  const JobView& view;
  std::vector<ReplayIsland> islands;  // the longest first
  std::vector<int32_t> island_of_trace;
  std::vector<RankLine> lines;       // per trace
  std::vector<int32_t> fork_of_row;  // of the member's line
  AwaitedRows awaited;

  // Filled by add_places().
  std::vector<int32_t> program;  // per trace: traces of equal number run the same program
  std::vector<bool> lost_part;   // per trace: what it does is a part of another program: calls may be lost
  std::vector<Place> places;
  Paces paces;

  // Filled by add_moments().
  std::vector<bool> begins_late;  // per trace: its recording begins in a later step than its session's
  bool any_begins_late = false;
  std::vector<WaitRule> rules;         // per instance
  std::vector<int64_t> end_ns;         // per member row, as recorded; empty where no recording begins late
  std::vector<int64_t> tail_ns;        // per member row: from the arrival it waited for to its end
  std::vector<bool> tail_is_transfer;  // per member row: false where it may hold waiting
  std::vector<Operation> operations;   // by group kind and operation
  std::vector<int32_t> operation_of_instance;
  // Per member row: the numbers of its instance and of itself within its island. Empty where there is one island.
  std::vector<uint32_t> instance_in_island, row_in_island;

  const RankLine& line_of(size_t row) const { return lines[view.ref(row).trace.index()]; }
  int32_t island_of_row(size_t row) const { return island_of_trace[view.ref(row).trace.index()]; }
};

// `lines`: of rank_lines(). Process 0 adds the rest, from all lines: the places for the books and the replay, the
// moments for the replay alone, when the marks are books (member_books.h) and their memory is free.
ReplayPlan plan_replay(const JobView& view, std::vector<RankLine> lines);
void add_places(ReplayPlan& plan);
void add_moments(ReplayPlan& plan);
// Per instance: whether at least half of its members' lines joined it, so that computation stood still.
std::vector<bool> blocking_instances(const ReplayPlan& plan);

constexpr int32_t kNoOperation = -1, kEveryOperation = -2;

// Per trace and fork of its line: factor on the work in front of the fork; of a trace without any, 1.
using ForkFactors = std::vector<std::vector<double>>;

struct Change {
  std::vector<bool> at_peers_pace;   // per trace
  std::vector<double> work;          // per trace: factor on its local work
  int32_t operation = kNoOperation;  // row of ReplayPlan::operations whose transfers take `transfer` times as long
  double transfer = 1;
  const std::vector<bool>* rows = nullptr;    // only the transfers of these rows of table.members; null: of all
  const ForkFactors* work_by_fork = nullptr;  // null: none
};
Change no_change(const ReplayPlan& plan);

// Per change the length of the island's job: from the first line's start to the last end, sessions added up.
std::vector<int64_t> replay(const ReplayPlan& plan, const ReplayIsland& island, const std::vector<Change>& changes);
int64_t recorded_length(const ReplayPlan& plan, const ReplayIsland& island);

}  // namespace skewscope::blame
