// Data: every nanosecond of every collective call under one label.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/model/all_to_all.h"
#include "skewscope/model/collective_instance.h"
#include "skewscope/model/group_kinds.h"
#include "skewscope/model/step_spans.h"

namespace skewscope {

// Why a call's time was not split.
enum class SplitReason : uint8_t {
  split,        // it was split
  unmatched,    // the call is in no instance
  unconnected,  // members' clocks are not joined
  semantics,    // who waits for whom is not known (unknown operation, root or messages not recorded)
  causality,    // on the common clock a member left before the last arrived: clocks or match are wrong there
};
const char* to_string(SplitReason reason);

// What the split rests on.
enum class SplitBasis : uint8_t {
  clocks,     // last arrival on the common clock
  durations,  // shortest duration of the members: no clock is needed, but the ends' scatter is in it
};
const char* to_string(SplitBasis basis);

// What weakens a split that is shown; the first that applies.
enum class SplitNote : uint8_t {
  none,
  incomplete,    // members are missing: waits are lower bounds
  extrapolated,  // beyond the ends that tie a member's clock by more than 5 % of half the window
  inconclusive,  // the uncertainty exceeds half the longest wait shown
};
const char* to_string(SplitNote note);

// Parts of one call's duration: wait + transfer + unattributed = duration; each exposed part is within its part.
struct CallParts {
  int64_t wait_ns = 0;
  int64_t transfer_ns = 0;
  int64_t unattributed_ns = 0;
  int64_t exposed_wait_ns = 0;  // while the rank computed nothing
  int64_t exposed_transfer_ns = 0;
  int64_t exposed_unattributed_ns = 0;

  int64_t duration_ns() const { return wait_ns + transfer_ns + unattributed_ns; }
  int64_t exposed_ns() const { return exposed_wait_ns + exposed_transfer_ns + exposed_unattributed_ns; }
  CallParts& operator+=(const CallParts& more) {
    wait_ns += more.wait_ns;
    transfer_ns += more.transfer_ns;
    unattributed_ns += more.unattributed_ns;
    exposed_wait_ns += more.exposed_wait_ns;
    exposed_transfer_ns += more.exposed_transfer_ns;
    exposed_unattributed_ns += more.exposed_unattributed_ns;
    return *this;
  }
  friend bool operator==(const CallParts&, const CallParts&) = default;
};

// Per instance, on the common clock.
struct InstanceTiming {
  JobNs last_arrival;         // largest start of the members present
  int64_t start_skew_ns = 0;  // largest - smallest start
  int64_t end_skew_ns = 0;    // largest - smallest end
  // Shortest duration of the members: for N-to-N kinds the transfer time up to the end skew, whatever the clocks.
  int64_t shortest_ns = 0;
  // Smallest transfer of a member; of a call that is not split, or has a root, first end - last start, at least 0.
  int64_t transfer_ns = 0;
  TraceIndex last;  // who arrived last; none when the lead is within the clocks' uncertainties (a tie)
  SplitReason reason = SplitReason::split;
  SplitBasis basis = SplitBasis::clocks;
  SplitNote note = SplitNote::none;
  int64_t wait_bar_ns = -1;  // half width of a 95 % interval of each member's wait; -1: unknown, or not split
  // The transfer times of both bases differ by more than three deviations.
  bool contradicted = false;
};

// Sums over one trace's calls.
struct TraceTotals {
  int64_t collectives = 0;  // calls
  // The exposed parts are no sums: calls of several streams overlap, and each nanosecond of the GPU counts once, under
  // the first of its labels (StepParts).
  CallParts parts;
  int64_t late_count = 0;       // instances in which it arrived last (ties count for nobody)
  int64_t late_candidates = 0;  // complete split instances in which it took part
  // Others' wait charged to it: in each gap between consecutive arrivals the members still awaited share the wait
  // equally (Shapley value of the airport game, Littlechild & Owen 1973). Sums over traces to all wait of N-to-N calls.
  int64_t delay_caused_ns = 0;
};

// One step of the job on the common clock: from when its last rank ended the step before until its last rank ended this
// one, so that steps that follow one another leave nothing out. Where the step before was not recorded: from when its
// last rank began it.
struct JobStep {
  SessionId session;
  int64_t number = 0;
  JobNs start;
  int64_t duration_ns = 0;
  int32_t traces = 0;            // on the clock, in which something was launched
  int64_t rows = 0, calls = 0;   // of these traces, launched in it
  JobNs host_start;              // ProfilerStep#N of the first host that began it
  int64_t host_duration_ns = 0;  // until the last host ended it
};

// A GPU's time in a stretch of its window, every nanosecond under the first label that applies.
struct StepParts {
  int64_t compute_ns = 0;
  int64_t exposed_transfer_ns = 0;
  int64_t exposed_wait_ns = 0;
  int64_t exposed_unattributed_ns = 0;
  int64_t exposed_memcpy_ns = 0;
  int64_t idle_ns = 0;

  int64_t sum_ns() const {
    return compute_ns + exposed_transfer_ns + exposed_wait_ns + exposed_unattributed_ns + exposed_memcpy_ns + idle_ns;
  }
  StepParts& operator+=(const StepParts& more) {
    compute_ns += more.compute_ns;
    exposed_transfer_ns += more.exposed_transfer_ns;
    exposed_wait_ns += more.exposed_wait_ns;
    exposed_unattributed_ns += more.exposed_unattributed_ns;
    exposed_memcpy_ns += more.exposed_memcpy_ns;
    idle_ns += more.idle_ns;
    return *this;
  }
};

// A step of one trace (model/step_spans.h): its parts sum to it. A rank may run ahead of the last one.
struct TraceStep {
  int32_t step = 0;  // row of Decomposition::steps
  TraceIndex trace;
  StepParts parts;
  int64_t number = 0;
  LocalNs begin;
  int32_t rows = 0, calls = 0;                     // launched in it
  int64_t host_launch_ns = -1, host_wait_ns = -1;  // as StepSpan

  LocalNs end() const { return begin + parts.sum_ns(); }
};

// The part of a trace's window that is in no step: with the steps of the trace, the parts sum to the window.
struct TraceRest {
  TraceIndex trace;
  StepPlace place = StepPlace::before;
  int64_t rows = 0;  // GPU rows launched there
  StepParts parts;
};

// Calls of one class are changed together: by one setting of the program, on one kind of link.
struct CallClass {
  int32_t group_kind = -1;  // row of GroupKinds::kinds; -1: no group is known
  CollectiveKind kind = CollectiveKind::unknown;
  int64_t bytes_up_to = -1;  // the power of ten, 1000 at least, that its message is no larger than; -1: size not known
  CallPhase phase = CallPhase::unknown;
  int32_t module = -1;  // row of JobTrace::modules; -1: nothing names it

  friend auto operator<=>(const CallClass&, const CallClass&) = default;
};

// Calls of one class, of all ranks. The exposed parts count each nanosecond of a GPU once: where calls of several
// streams overlap, for one of them (attribute/count_once.cc). Over all classes they sum to those of TraceTotals.
struct ClassTotals {
  CallClass of;
  int64_t calls = 0, gpu_calls = 0;  // gpu_calls: that ran as kernels
  int64_t hidden_ns = 0;             // of their time, while the rank computed
  CallParts parts;
};

struct Decomposition {
  std::vector<CallParts> members;         // row = row of InstanceTable::members
  std::vector<InstanceTiming> instances;  // row = InstanceId
  std::vector<CallParts> unmatched;       // row = row of InstanceTable::unmatched
  std::vector<TraceTotals> traces;        // row = TraceIndex
  std::vector<int64_t> caused_ns;         // row = row of InstanceTable::members: wait of others charged to it
  std::vector<JobStep> steps;             // by session and number; of each session's longest component
  std::vector<TraceStep> trace_steps;     // by step and trace; where something was launched
  std::vector<TraceRest> trace_rests;     // by trace and place; of traces that have steps, where there is any
  StepBasis step_basis = StepBasis::none;
  // Steps by row of islands_of(), of those of several traces; empty where all traces are compared.
  std::vector<std::vector<JobStep>> island_steps;
  GroupKinds group_kinds;
  std::vector<ClassTotals> classes;        // by class
  std::vector<AllToAllTotals> all_to_all;  // by communicator; those that have all-to-alls
  Findings findings;                       // what speaks against the splits
};

// Parts are never negative and sum to the call's duration exactly.
std::string check_invariants(const Decomposition& d, const InstanceTable& table, const JobTrace& job);

}  // namespace skewscope
