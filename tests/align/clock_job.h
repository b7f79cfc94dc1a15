// A training job in memory, with what really happened: ranks in nodes, a tensor-parallel group per node and a
// data-parallel group per local index, calls stamped by imperfect clocks. src/align/METHOD.md, section 9, describes it;
// it shares no code with what it judges.
//
// Each step: `layers` times computation and a TP all-reduce, then `dp_calls` times computation and a DP all-reduce.
// A call starts when its rank gets there; all members end at the last arrival + transfer + position bias + exponential
// end noise; now and then one exits late; behind a late member ends come later by its hops (latency wave).
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/clock_model.h"
#include "skewscope/model/collective_instance.h"
#include "skewscope/model/decomposition.h"

namespace skewscope {

struct ClockJobOptions {
  uint64_t seed = 1;
  int nodes = 16, gpus_per_node = 8, steps = 10, layers = 16, dp_calls = 4;
  double compute_us = 8000, compute_cv = 0.02;
  double slow_factor = 1.05;                        // of one rank, drawn at random
  double stall_probability = 0.1, stall_us = 5000;  // of one node, per layer; uniform up to stall_us
  double tp_transfer_us = 150, dp_transfer_us = 3000;
  double tp_bias_us = 2, dp_bias_us = 5;    // fixed position bias of an end, uniform up to this
  double tp_noise_us = 2, dp_noise_us = 5;  // exponential; with the bias capped at 20 us
  double hop_us = 1.5;                      // DP: per member behind the late one
  double late_exit_probability = 0.01, late_exit_us = 500;
  double node_offset_ms = 50, node_drift_ppm = 20;  // uniform in +- this
  double gpu_offset_us = 1, gpu_drift_ppm = 0.05;   // normal
  double bend_us = 0;                               // per node, one sine over the window
  double missing_ranks = 0, missing_kernels = 0;    // shares
  double mismatched = 0;                            // share of calls listed in a neighbouring instance
  double cut = 0;                                   // each rank loses up to this share at either end
  bool halves = false;                              // two halves of the nodes without a common collective
  bool seq = true;                                  // calls carry their number
  bool hosts = true;                                // traces name their host
};

// The scenarios by name: base, wave, holes, mismatched, one step, one clock, bent 5, bent 30,
// long, no straggler. Tests and benchmark run the same ones.
struct ClockScenario {
  const char* name;
  const char* what;
  ClockJobOptions options;
};
const std::vector<ClockScenario>& clock_scenarios();
ClockJobOptions clock_scenario(const char* name);

struct ClockJob {
  static constexpr double kEpochUs = 1.7e15;  // a date, so that stamps are as large as real ones

  // One recorded call as it was. Row = row of its trace's calls.
  struct Call {
    int32_t instance = -1;
    double start_us = 0, end_us = 0;  // true time
  };
  // One collective as it was.
  struct Instance {
    double last_arrival_us = 0, median_end_us = 0;
    int32_t members = 0, recorded = 0;
  };

  JobTrace job;
  InstanceTable instances;               // by truth, but for the share asked to be mismatched
  std::vector<std::vector<Call>> calls;  // by trace and row
  std::vector<Instance> truth;
  std::vector<int32_t> instance_of;  // per instance of `instances`: the row of `truth` most members belong to
  double window_us = 0;

  // What the clock of a trace reads at a true time.
  double clock_us(size_t trace, double t_us) const;

  // Per trace.
  struct Clock {
    double offset_us = 0, drift = 0, bend_us = 0, phase = 0;
  };
  std::vector<Clock> clocks;
};

ClockJob make_clock_job(const ClockJobOptions& options);

// How far an estimate is from the truth. Clock errors: of corrected ends inside communicators, from their row's median.
struct ClockScore {
  double clock_rms_us = 0, clock_p99_us = 0;
  double wait_mae_us = 0, wait_p99_us = 0, wait_sum_us = 0;  // complete instances
  double late_right = 0;     // share of complete instances whose last arrival named is within 5 us of the true last
  double rank_coverage = 0;  // share of (rank, instant) whose error against the component's reference is in the bar
  double wait_coverage = 0;  // share of calls whose wait error is within the instance's bar
  double mean_bar_us = 0;    // of uncertainty_ns
  size_t instances = 0;
};

ClockScore score_clocks(const ClockJob& truth, const InstanceTable& table, const ClockModel& clocks,
                        const Decomposition& split);

}  // namespace skewscope
