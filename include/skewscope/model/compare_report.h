// Data: what got slower from one run to another of the same size: the shape of compare.json (schema
// skewscope.compare/1) as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/base/finding.h"

namespace skewscope {

// Code of the finding that says why steps of two runs are not compared.
constexpr FindingCode kStepsNotComparable = "steps-not-comparable";

// The parts of a step, or of a call of a collective.
enum class TimePart : uint8_t {
  compute,
  exposed_transfer,
  exposed_wait,
  exposed_unattributed,
  exposed_memcpy,
  idle,
  wait,
  transfer,
  // Of the host (CPU), in its ProfilerStep#N.
  host_step,        // all of it
  host_work,        // all of it but host_wait
  host_launch,      // calls that launch
  host_wait,        // calls that wait for the GPU
  host_bound_idle,  // of the GPU: it was idle until the host launched
};
const char* to_string(TimePart part);

struct CompareReport {
  struct Run {
    std::string name;
    int32_t world_size = 0;
    int64_t steps = 0;  // that all ranks recorded
    double step_ns = 0;
    double step_error_ns = -1;  // standard error of the mean; -1: fewer than two steps
  } base, now;

  // A time per step in both runs.
  struct Change {
    double base_ns = 0, new_ns = 0;
    double p_value = -1;       // that chance alone makes such a difference (Welch's t over steps); -1: not determined
    bool significant = false;  // p held against all rows of its table: of those called so, 5 % are chance

    double change_ns() const { return new_ns - base_ns; }
  };

  bool comparable = true;  // false: the steps of the two runs do not launch the same collectives, as diagnostics say
  Change step;
  // By which the mean step is longer, relative to the base: 0.05 is 5 % slower.
  double regression() const { return step.change_ns() / step.base_ns; }

  // What the ranks' own steps consist of, mean over ranks: these sum to their mean length.
  struct Part {
    TimePart part = TimePart::compute;  // compute to idle
    Change change;
  };
  std::vector<Part> parts;

  struct RankPart {
    int32_t rank = 0;
    TimePart part = TimePart::compute;
    Change change;
  };
  std::vector<RankPart> ranks;

  // What the hosts did in their steps, mean over ranks, and of each rank; parts host_step to host_bound_idle. Empty
  // where steps are the hosts', or a report does not say. host_bound_idle has no spread, so it is never significant.
  std::vector<Part> host;
  std::vector<RankPart> host_ranks;

  // Per member and step. `op` "" : all operations of the communicator.
  struct CollectivePart {
    int32_t communicator = 0;  // id in the new run
    std::string role;
    std::vector<int32_t> members;
    std::string op, dtype;
    int64_t bytes = 0;
    TimePart part = TimePart::wait;  // wait, transfer, exposed_wait, exposed_transfer
    Change change;
  };
  std::vector<CollectivePart> collectives, communicators;

  // Median over ranks, per step; where both runs have the ranks' tables. Without spread, so never significant.
  struct Work {
    std::string name;
    Change change;
  };
  std::vector<Work> kernels;
  std::vector<Work> operators;  // what they launched themselves

  Findings diagnostics;  // sorted
};

}  // namespace skewscope
