// Data: why ranks came late, whose lateness it was in the end, and what the job would gain without it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/model/decomposition.h"
#include "skewscope/model/pipeline.h"

namespace skewscope {

// What a rank spent the time on that made it arrive later than the others.
enum class LateCause : uint8_t {
  slower_kernels,      // the same kernels took longer, launched alike
  other_kernels,       // more kernels, or other ones
  other_shapes,        // the same kernels as often, launched on other grids: other sizes of what they work on
  copies,              // memory copies that no kernel hides
  transfer_elsewhere,  // exposed transfer in other groups
  wait_elsewhere,      // exposed waiting in other groups: a victim
  host,                // the GPU idled because the host launched late
  idle,                // the GPU idled otherwise
  program,             // what ranks that run the same program spend, too: a pipeline's fill, a longer stage
  unknown,             // nothing to compare with: no earlier collective of the same members, or no GPU rows
};
constexpr size_t kLateCauses = 10;
const char* to_string(LateCause cause);

using CauseBook = std::array<int64_t, kLateCauses>;  // ns by LateCause

// The job replayed with one rank at the speed of its peers: ranks that run the same program.
struct WhatIf {
  bool replayed = false;
  int64_t saved_ns = 0;     // shorter by this much
  double share = 0;         // of what the job would gain with every rank as fast as its peers
  bool stands_out = false;  // more than twice what any innocent rank's share is: a cause, else a suspect
};

// The exposed communication of one GPU by what it held up (blame/line/blocking.h); sums to
// RankSummary::exposed_communication_ns.
struct ExposedSplit {
  int64_t blocking_ns = 0;   // computing, or the host that launches it, waited for the call
  int64_t coincided_ns = 0;  // the GPU would have computed nothing anyway
  int64_t unknown_ns = 0;    // the trace does not tell

  int64_t sum_ns() const { return blocking_ns + coincided_ns + unknown_ns; }
  ExposedSplit& operator+=(const ExposedSplit& more) {
    blocking_ns += more.blocking_ns;
    coincided_ns += more.coincided_ns;
    unknown_ns += more.unknown_ns;
    return *this;
  }
  friend bool operator==(const ExposedSplit&, const ExposedSplit&) = default;
};

// Blocking time by what the calls did meanwhile.
struct BlockedParts {
  int64_t wait_ns = 0, transfer_ns = 0, unattributed_ns = 0;
  int64_t error_ns = 0;  // of wait_ns, either way: the calls' uncertainties, of each no more than it blocked

  int64_t sum_ns() const { return wait_ns + transfer_ns + unattributed_ns; }
  BlockedParts& operator+=(const BlockedParts& more) {
    wait_ns += more.wait_ns;
    transfer_ns += more.transfer_ns;
    unattributed_ns += more.unattributed_ns;
    error_ns += more.error_ns;
    return *this;
  }
  friend bool operator==(const BlockedParts&, const BlockedParts&) = default;
};

// What a step was blocked by.
enum class BlockedBy : uint8_t {
  nothing,
  transfer,      // waiting for others is at most a third of the blocking time
  arrival_skew,  // it is at least two thirds
  mixed,         // it is in between
  inconclusive,  // uncertainties and calls that are not split leave more than a third of the time open
};
const char* to_string(BlockedBy by);  // "" for nothing
BlockedBy blocked_by(const BlockedParts& parts);

struct TraceBlame {
  ExposedSplit exposed;
  // By which it is through earlier, replayed alone, if its calls took no time; -1: not replayed, or not as recorded.
  int64_t instant_calls_saved_ns = -1;
  int64_t direct_ns = 0;          // others' wait charged to it where it arrived late: TraceTotals::delay_caused_ns
  int64_t origin_ns = 0;          // charged to it after blame for waiting elsewhere moved back to who was waited for
  CauseBook origin_by_cause{};    // sums to origin_ns
  CauseBook lateness_by_cause{};  // over the instances it was last in: its time since the members last left a
                                  // collective together, minus that of the member in the middle; sums to the lateness
  WhatIf what_if;
};

// Blame that moved: a rank was late in one group because it had waited in another.
struct BlameFlow {
  TraceIndex victim;
  CommunicatorId late_in, waited_in;
  int64_t moved_ns = 0;
};

// Ranks that run the same program, such as one stage of a pipeline.
struct ProgramGroup {
  std::vector<TraceIndex> traces;
  int64_t work_ns = 0;          // local work of one of them, the median
  int64_t saved_ns = 0;         // of the longest: by which the job is shorter with all at the mean
  bool saved_at_least = false;  // the pipeline's schedule allows more than that
};

// Ranks none of which differs clearly alone, and that do together: a slow node.
struct Together {
  std::vector<Rank> ranks;  // sorted; empty: none
  int64_t saved_ns = 0;
};

// The job replayed with the transfers of one operation in one kind of group changed.
struct OperationWhatIf {
  int32_t group_kind = -1;  // row of Decomposition::group_kinds
  CollectiveKind kind = CollectiveKind::unknown;
  int64_t calls = 0;                // of all ranks
  int64_t exposed_transfer_ns = 0;  // of all ranks
  // By which the job is shorter; -1: not replayed, since behind most last arrivals more than transfer may follow.
  int64_t hidden_saved_ns = -1;  // when nobody has to wait for these transfers, at most
  int64_t faster_saved_ns = -1;  // when these transfers take half as long
  // One phase of the steps, or one module of the model: the most exposed of either.
  struct Part {
    CallPhase phase = CallPhase::unknown;
    int32_t module = -1;  // row of JobTrace::modules
    int64_t calls = 0, exposed_transfer_ns = 0, hidden_saved_ns = -1;
  };
  std::vector<Part> parts;  // phases first
};

// Lengths of the job, replayed; -1: not replayed.
struct Replay {
  int64_t recorded_ns = -1;      // first start to last end of what is replayed, as recorded
  int64_t replayed_ns = -1;      // the same by replay: how far to trust it
  int64_t balanced_ns = -1;      // every rank as fast as its peers: no skew from local work
  int64_t no_transfer_ns = -1;   // a network that takes no time
  int64_t even_experts_ns = -1;  // the tokens of experts divided evenly; -1: also where they are
  bool saved_at_least = false;   // what is saved is a bound: waiting that stays in the replay, or peers that are slowed
};

// What replays say of one island (model/clock_components.h). Nothing in it is of ranks of two.
struct IslandBlame {
  Replay replay;
  Together together;
  std::vector<OperationWhatIf> operations;  // those with most exposed transfer, most saved by hiding first
  std::vector<ProgramGroup> programs;       // by smallest trace; empty where all ranks run one, or none does
  Pipeline pipeline;
};

// The job's own lengths are those of its longest island.
struct Blame : IslandBlame {
  std::vector<TraceBlame> traces;    // row = TraceIndex
  std::vector<BlockedParts> steps;   // row = row of Decomposition::trace_steps
  std::vector<BlameFlow> flows;      // by victim, then groups
  std::vector<IslandBlame> islands;  // row = row of islands_of(); empty where there is one
};

// Origins sum to the direct charges, books to their totals.
std::string check_invariants(const Blame& blame, const Decomposition& d);

}  // namespace skewscope
