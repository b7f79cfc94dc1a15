// Data: what is said about a job: the shape of report.json (configs/report.schema.json) as plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/base/finding.h"
#include "skewscope/base/string_table.h"
#include "skewscope/model/blame.h"
#include "skewscope/model/clock_model.h"
#include "skewscope/model/collective_instance.h"
#include "skewscope/model/found_job.h"
#include "skewscope/model/long_logs.h"
#include "skewscope/model/pipeline.h"
#include "skewscope/model/step_spans.h"
#include "skewscope/model/work_lanes.h"

namespace skewscope {

struct JobReport {
  struct Job {
    std::string name;
    int32_t world_size = 0;
    std::vector<int32_t> ranks_present, ranks_missing;
    std::vector<std::string> hosts;     // sorted
    std::vector<std::string> software;  // of all ranks (RankTrace::software), sorted
    std::vector<int64_t> steps;         // numbers of ProfilerStep#N seen by any rank, sorted
    int64_t window_start_ns = 0, window_ns = 0;
    JobVendor vendor = JobVendor::unknown;
    int32_t sessions = 1;
    StepBasis step_basis = StepBasis::none;  // none where there are steps: a report from before steps were GPU time
  } job;

  // This job and those that lay next to it in what was given, by time.
  std::vector<FoundJob> jobs_found;

  struct Clock {
    int32_t rank = 0, session = 0;
    std::string domain;  // host name, else "rank <r>"
    int64_t offset_ns = 0;
    double drift_ppb = 0;
    int64_t uncertainty_ns = -1;
    ClockMethod method = ClockMethod::identity;
    bool aligned = false;    // joined to the reference of its session's largest component; `uncertainty_ns` is to it
    int32_t component = 0;   // row of `components`
    int64_t bend_ns = 0;     // largest deviation from the line; 0 except for method "bent"
    int64_t proven_ns = -1;  // cause and effect alone prove the clock right to this; -1: nothing is proven
  };
  std::vector<Clock> clocks;

  // Ranks on one clock. Those of different components are never compared. Of each session the largest first.
  struct Component {
    int32_t session = 0;
    std::vector<int32_t> ranks;
    int64_t window_ns = 0;  // from its first event to its last; the job's is that of the longest
  };
  std::vector<Component> components;

  struct CommunicatorRow {
    int32_t id = 0;
    std::string name, desc;
    std::vector<int32_t> ranks;
    int32_t size = 0, nodes = -1;    // nodes: distinct hosts of the ranks present; -1 where no trace names its host
    int64_t collectives = 0;         // instances
    std::string link;                // what its members talk over, and so the peak below; "": not known
    double link_peak_gb_per_s = -1;  // of one member, one direction: no bus bandwidth of a ring is above it
  };
  std::vector<CommunicatorRow> communicators;

  // Steps of the job (model/decomposition.h: JobStep), by session and number; of its longest component.
  struct StepRow {
    int32_t session = 0;
    int64_t step = 0;
    int64_t start_ns = 0;  // since job.window_start_ns
    int64_t duration_ns = 0;
    int32_t ranks = 0;                      // of this component, that launched something in it
    int64_t gpu_rows = 0, collectives = 0;  // of these ranks, launched in it
    int64_t host_start_ns = 0;              // since job.window_start_ns: the first host began ProfilerStep#N
    int64_t host_duration_ns = 0;           // until the last host ended it
    // Exposed communication in it that blocked these ranks, by what the calls did meanwhile.
    int64_t blocking_wait_ns = 0, blocking_transfer_ns = 0, blocking_unattributed_ns = 0;
    BlockedBy blocked_by = BlockedBy::nothing;
    int32_t component = 0;  // row of `components`, whose ranks these are
  };
  std::vector<StepRow> steps;

  // What each rank's GPU did in each step in which it launched something: tables/rank_steps.csv. The parts sum to the
  // rank's own step (model/decomposition.h: TraceStep).
  struct RankStep {
    int32_t rank = 0, session = 0;
    int64_t step = 0;
    int64_t compute_ns = 0, exposed_transfer_ns = 0, exposed_wait_ns = 0, exposed_unattributed_ns = 0,
            exposed_memcpy_ns = 0, idle_ns = 0;
    int64_t start_ns = 0;  // since job.window_start_ns
    int64_t gpu_rows = 0, collectives = 0;
    int64_t host_start_ns = 0, host_duration_ns = 0, host_launch_ns = -1, host_wait_ns = -1;  // as StepSpan
  };
  std::vector<RankStep> rank_steps;

  // What of a rank's window is in none of its steps: tables/outside_steps.csv. With its rows of rank_steps, the parts
  // sum to the window.
  struct OutsideSteps {
    int32_t rank = 0, session = 0;
    std::string place;  // before, between, after
    int64_t gpu_rows = 0;
    int64_t compute_ns = 0, exposed_transfer_ns = 0, exposed_wait_ns = 0, exposed_unattributed_ns = 0,
            exposed_memcpy_ns = 0, idle_ns = 0;
  };
  std::vector<OutsideSteps> outside_steps;

  // Calls launched in a step, summed over members: tables/collective_steps.csv.
  struct CollectiveStep {
    int32_t communicator = 0;
    CollectiveKind op = CollectiveKind::unknown;
    std::string dtype;
    int64_t bytes = 0;
    int32_t session = 0;
    int64_t step = 0;
    int64_t calls = 0, wait_ns = 0, transfer_ns = 0, exposed_wait_ns = 0, exposed_transfer_ns = 0;
  };
  std::vector<CollectiveStep> collective_steps;

  struct RankRow {
    int32_t rank = 0, device = -1;
    std::string host, device_name;
    int64_t total_ns = 0, compute_ns = 0, communication_ns = 0, exposed_communication_ns = 0, exposed_memcpy_ns = 0,
            busy_ns = 0, idle_ns = 0;
    // Sum to exposed_communication_ns (model/blame.h: ExposedSplit).
    int64_t blocking_communication_ns = 0, coincided_communication_ns = 0, unknown_communication_ns = 0;
    int64_t instant_calls_saved_ns = 0;  // model/blame.h: TraceBlame; -1: not known
    int64_t idle_host_wait_ns = 0, idle_kernel_wait_ns = 0, idle_other_ns = 0;  // sum to idle_ns (RankSummary)
    int64_t collectives = 0, wait_ns = 0, transfer_ns = 0, unattributed_ns = 0, exposed_wait_ns = 0,
            exposed_transfer_ns = 0, late_count = 0, delay_caused_ns = 0, measured_wait_ns = -1,
            split_of_measured_ns = -1;  // both over calls that have both; -1: none has
  };
  std::vector<RankRow> ranks;

  struct CollectiveRow {
    int32_t communicator = 0;
    CollectiveKind op = CollectiveKind::unknown;
    std::string dtype;
    int64_t bytes = 0, count = 0;
    int64_t exposed_wait_ns = 0, exposed_transfer_ns = 0, measured_wait_ns = -1, split_of_measured_ns = -1;  // sums
    Statistics wait_ns, transfer_ns, start_skew_ns, end_skew_ns, algo_bandwidth_gb_per_s, bus_bandwidth_gb_per_s;
  };
  std::vector<CollectiveRow> collectives;
  std::vector<TransportRow> transports;
  std::vector<TrendRow> trend;

  // Calls of all ranks by kind of group, operation, size and phase (model/decomposition.h: ClassTotals), most exposed
  // first: tables/overlap.csv. The exposed parts count each nanosecond of a GPU once: they sum to those of `ranks`.
  struct OverlapRow {
    std::string group;              // what traces call groups of this kind, else "group of 4"; "" = not known
    int32_t size = -1, nodes = -1;  // of each group: ranks, hosts
    int32_t groups = 0;             // of this kind
    CollectiveKind op = CollectiveKind::unknown;
    int64_t bytes_up_to = -1;  // messages of at most so many bytes, and more than a tenth of it
    std::string phase;         // forward | backward | optimizer; "" = not known
    std::string module;        // of overlap_modules: the part of the model; "" = nothing names it
    int64_t calls = 0, time_ns = 0, wait_ns = 0, transfer_ns = 0, unattributed_ns = 0;
    int64_t hidden_ns = -1;  // of time_ns, while the rank computed; -1: its traces have no GPU rows
    int64_t exposed_wait_ns = 0, exposed_transfer_ns = 0, exposed_unattributed_ns = 0;

    int64_t exposed_ns() const { return exposed_wait_ns + exposed_transfer_ns + exposed_unattributed_ns; }
    double hidden_share() const {  // -1: not known
      return hidden_ns < 0 || time_ns <= 0 ? -1 : static_cast<double>(hidden_ns) / static_cast<double>(time_ns);
    }
  };
  std::vector<OverlapRow> overlap;
  // The same by kind of group, operation, phase and module, of any size: tables/overlap_modules.csv; empty where no
  // call is of a module with a name.
  std::vector<OverlapRow> overlap_modules;

  // What ranks sent each other in all-to-alls (model/all_to_all.h), by communicator: tables/all_to_all_groups.csv.
  struct AllToAll {
    int32_t communicator = 0;
    int64_t calls = 0, calls_with_sizes = 0;  // instances; those in which all members tell what they sent and received
    int64_t bytes = 0;                        // sent by all members
    int64_t dispatches = 0;                   // of calls_with_sizes: that return nothing brought before
    // What the rank that received most in dispatches received, in means of the group, and of all; what the rank that
    // received most in each received. -1: nothing was received, or sizes are not known.
    double imbalance = -1, busiest_share = -1, imbalance_per_call = -1;
    int32_t busiest_rank = -1;
    // In the group's next collectives after uneven dispatches; of it, charged to who had received most.
    int64_t waited_ns = 0, waited_for_busiest_ns = 0;
    struct Member {  // tables/all_to_all_ranks.csv; bytes of calls that tell them
      int32_t communicator = 0, rank = 0;
      int64_t sent_bytes = 0, received_bytes = 0, dispatched_bytes = 0;  // dispatched: received in dispatches
    };
    std::vector<Member> ranks;
    struct Pair {  // tables/all_to_all.csv; of calls that tell the size of each part
      int32_t communicator = 0, sender = 0, receiver = 0;
      int64_t bytes = 0, calls = 0;
    };
    std::vector<Pair> pairs;
  };
  std::vector<AllToAll> all_to_all;

  // What nccl-tests measured on these machines, as the user gave it: tables/baseline.csv.
  struct BaselinePoint {
    std::string op;      // "all_reduce"; "" where the file does not tell
    std::string source;  // name of the file
    int64_t bytes = 0;
    double bus_bandwidth_gb_per_s = 0;
  };
  std::vector<BaselinePoint> baseline;

  struct Straggler {
    int32_t rank = 0;
    int64_t late_count = 0;
    int64_t late_candidates = 0;         // complete split instances it took part in
    double late_share = 0;               // late_count / late_candidates
    int64_t wait_caused_ns = 0;          // charged where it arrived late
    int64_t wait_originated_ns = 0;      // charged to it after blame moved back through the groups
    std::optional<LateCause> cause;      // that most of the latter has; none: not determined
    double cause_share = 0;              // of wait_originated_ns
    std::optional<Standing> standing;    // none: not replayed
    int64_t saved_ns = 0;                // by which the job is shorter with this rank as fast as its peers
    bool saved_at_least = false;         // what is saved is a bound
    double saved_share = 0;              // of what it is shorter with every rank as fast as its peers
    std::optional<LatePattern> pattern;  // none: it was never last
    int32_t component = 0;               // row of `components`: what is saved is saved of its length
  };
  std::vector<Straggler> stragglers;  // most wait originated first

  // What the job loses its time to, what weighs most first: tables/losses.csv.
  struct Loss {
    LossKind kind = LossKind::waiting;
    std::vector<int32_t> ranks;  // that cause it; sorted; empty: all, or nobody in particular
    int64_t gain_ns = 0;         // by which the job would be shorter without it
    double gain_share = 0;       // the same, of the job's length
    GainBound bound = GainBound::exact;
    std::string name, why, next;  // in a word or two; what was seen; what to do
    int32_t component = 0;        // row of `components`, whose length it is of

    // What losses are ordered by: a gain of which only the most is known counts half.
    double weight() const { return bound == GainBound::at_most ? gain_share / 2 : gain_share; }
  };
  std::vector<Loss> losses;

  // One row per rank and LateCause that has any time: tables/causes.csv.
  struct CauseRow {
    int32_t rank = 0;
    LateCause cause = LateCause::unknown;
    int64_t lateness_ns = 0;  // where it was last: its time since the members last left together, minus the median's
    int64_t wait_originated_ns = 0;
  };
  std::vector<CauseRow> causes;

  // Blame that moved: `rank` was late in group `late_in` because it had waited in group `waited_in`:
  // tables/blame_flows.csv. Communicator ids.
  struct FlowRow {
    int32_t rank = 0, late_in = 0, waited_in = 0;
    int64_t moved_ns = 0;
  };
  std::vector<FlowRow> flows;

  // The job replayed (ns; -1: not replayed): as recorded, unchanged, with every rank as fast as its peers, on a network
  // that takes no time.
  struct WhatIf {
    int64_t recorded_ns = -1, replayed_ns = -1, balanced_ns = -1, no_transfer_ns = -1;
    int64_t even_experts_ns = -1;  // with the tokens of experts divided evenly; -1: not replayed, or they are
    bool saved_at_least = false;   // all that is saved is a bound
    int64_t steps = 0;             // profiler steps in the window: a length divided by them is a step time
    struct Program {
      std::vector<int32_t> ranks;
      int64_t work_ns = 0;          // local work of one rank, the median
      int64_t saved_ns = 0;         // of the longest: by which the job is shorter with all at the mean
      bool saved_at_least = false;  // of it or of all, a bound
    };
    std::vector<int32_t> together;  // ranks that differ clearly only together
    int64_t together_saved_ns = 0;
    std::vector<Program> programs;  // ranks that run one program, such as a stage; empty where all ranks do
    // The transfers of one operation in one kind of group changed: tables/what_if_operations.csv.
    struct Operation {
      std::string group;  // as OverlapRow
      int32_t size = -1, nodes = -1, groups = 0;
      CollectiveKind op = CollectiveKind::unknown;
      int64_t calls = 0, exposed_transfer_ns = 0;   // of all ranks
      int64_t hidden_saved_ns = -1;                 // by which the job is shorter with them hidden; -1: not replayed
      int64_t faster_saved_ns = -1;                 // with them taking half as long
      double hidden_share = -1, faster_share = -1;  // of the replayed length
      struct Part {                                 // tables/what_if_operation_parts.csv
        std::string phase, module;                  // one of them
        int64_t calls = 0, exposed_transfer_ns = 0;
        int64_t hidden_saved_ns = -1;
        double hidden_share = -1;
      };
      std::vector<Part> parts;  // of one phase, or of the module that exposes most of it
    };
    std::vector<Operation> operations;  // most saved by hiding first; empty: no operation exposes enough
  } what_if;

  // The pipeline that the ranks form, as their messages show it (model/pipeline.h); stages 0: none.
  struct Pipeline {
    int32_t stages = 0, micro_batches = 0, virtual_stages = 0;
    PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
    int64_t window_ns = 0;     // of all its ranks: what the shares are of
    int64_t bubble_ns = -1;    // its ranks stood still for other stages; -1: not known
    double bubble_share = -1;  // of window_ns, as the others; -1: not known
    double schedule_share = -1, imbalance_share = -1;
    double with_twice_micro_batches_share = -1;      // of what would then be the window
    int64_t with_twice_micro_batches_saved_ns = -1;  // by which the job would be shorter
    struct Stage {
      int32_t stage = 0;
      std::vector<int32_t> ranks;
      int64_t work_ns = -1, bubble_ns = -1;  // of one rank, the mean; -1: not known
    };
    std::vector<Stage> by_stage;
  } pipeline;

  // POP and TALP efficiencies (src/report/rows/efficiency_rows.cc), 0..1; -1 = not determined.
  struct Efficiency {
    double parallel = -1, load_balance = -1, communication = -1, serialization = -1, transfer = -1,
           gpu_communication = -1, orchestration = -1;
    double bubble = -1;  // 1 - pipeline.schedule_share: what of serialization a pipeline's schedule makes
  } efficiency;

  // Ranks that some session compares, directly or through others: reported as a job of their own. In a job of one
  // session, a component. The job's own steps, what-if, pipeline and efficiency are those of the first, its longest.
  struct Island {
    std::vector<int32_t> ranks;
    int32_t component = 0;  // row of `components`: the first of them
    int64_t window_ns = 0;
    std::vector<StepRow> steps;
    WhatIf what_if;
    Pipeline pipeline;
    Efficiency efficiency;
    std::vector<Loss> losses;
  };
  std::vector<Island> islands;  // those of several ranks; empty where all ranks are compared

  struct Matching {
    int64_t calls = 0, matched = 0, unmatched = 0, incomplete_instances = 0, mismatched_instances = 0;
    std::string method;  // most used MatchMethod
    struct Reason {
      UnmatchedReason reason = UnmatchedReason::alone;
      int64_t calls = 0;
    };
    std::vector<Reason> unmatched_by_reason;
  } matching;

  // One row per instance and rank: tables/collective_ranks.csv. Times since job.window_start_ns on the common clock.
  struct CallRow {
    int32_t instance = 0, communicator = 0, rank = 0;
    int64_t seq = 0;  // "Seq" where recorded, else the ordinal within its communicator
    CollectiveKind op = CollectiveKind::unknown;
    std::string_view dtype;  // words of the program's own, as all text here: a job has millions of these rows
    int64_t bytes = 0;
    int64_t start_ns = 0, end_ns = 0;        // not `timed`: places that say the order of calls, and no time
    int64_t wait_ns = -1, transfer_ns = -1;  // sum to the call's length; -1: it was not split
    int64_t exposed_ns = 0;                  // -1: nothing but calls is recorded
    bool complete = false, timed = true;
    std::string_view note;                     // why it was not split, or what weakens the split; "" for neither
    int64_t wait_bar_ns = -1;                  // half width of a 95 % interval of the wait; -1: unknown, or not split
    std::string_view basis;                    // clocks | durations; "" where it was not split
    int64_t step = -1, measured_wait_ns = -1;  // profiler step of its launch; wait as the device says; -1: none
  };
  std::vector<CallRow> calls;

  // One row per call that is in no instance: tables/unmatched.csv.
  struct UnmatchedRow {
    int32_t rank = 0, communicator = -1;
    CollectiveKind op = CollectiveKind::unknown;
    UnmatchedReason reason = UnmatchedReason::alone;
    std::string_view dtype, kernel;  // of the program's own words; of kernel_names
    int64_t start_ns = 0, duration_ns = 0;
  };
  std::vector<UnmatchedRow> unmatched;
  std::shared_ptr<const StringTable> kernel_names;  // copies of a report share them

  // One row per figure of the ranks' own tables, where they were asked for: tables/rank_statistics.csv.
  struct RankStatistic {
    std::string table, key, metric;       // as RankFigure
    int64_t ranks = 0, min = 0, max = 0;  // ranks: that have it
    double median = 0;
    int32_t min_rank = 0, max_rank = 0;  // the first of them
    std::vector<int32_t> outliers;       // ranks far from the median
    int32_t component = 0;               // row of `components`: the ranks that are held against each other
  };
  std::vector<RankStatistic> rank_statistics;

  WorkLanes lanes;  // what the page's timeline shows of GPU work
  double end_spread_before_ns = 0, end_spread_after_ns = 0;
  Findings diagnostics;  // sorted
};

// The rows of these ranks and of their groups, as if the job had no others; without calls, and what is of all ranks.
JobReport rows_of_ranks(const JobReport& report, const std::vector<int32_t>& ranks);

// The longest component of several ranks, to which steps, what-if and window belong; null where it has all ranks.
const JobReport::Component* longest_component(const JobReport& report);

// Steps that most ranks recorded, by session and number: the steps whose lengths are compared, and their mean reported.
std::vector<const JobReport::StepRow*> whole_steps(const JobReport& report);

}  // namespace skewscope
