// Everything about a simulated job that does not change from step to step.
#pragma once

#include <cstdint>
#include <vector>

#include "clock.h"
#include "program.h"
#include "skewscope/simulate.h"
#include "topology.h"

namespace skewscope::simulate {

struct RankTraits {
  double slow_factor = 1;
  int64_t host_gap_ns = 0;
  double host_factor = 1;
  double link_factor = 1;
  OwnWork own;
  int32_t late_steps = 0;  // its recording starts this many steps later
  bool has_file = true;
};

struct Job {
  SimulateOptions options;
  Topology topology;
  std::vector<Program> programs;
  std::vector<int32_t> program_of;  // by rank: row of `programs`
  std::vector<RankClock> clocks;    // by rank
  std::vector<RankTraits> traits;
  bool ideal_network = false;  // no collective takes longer than until its last member has arrived
  bool instant_calls = false;  // no collective takes any time, or waits for anybody: each rank runs alone

  const Program& program(int32_t rank) const {
    return programs[static_cast<size_t>(program_of[static_cast<size_t>(rank)])];
  }
  const RankTraits& trait(int32_t rank) const { return traits[static_cast<size_t>(rank)]; }
  // Whether the GPU row of operation `op` is missing from the trace, and every such call of the same step and rank
  // answers the same.
  bool kernel_lost(int32_t step, int32_t rank, int32_t op) const;
  // "Seq" of a communication call, as the process group counts it on this rank; collectives and P2P apart.
  int64_t seq(int32_t step, int32_t rank, const Op& op) const;
};

// Options must be valid (see simulate.cc).
Job make_job(const SimulateOptions& options);

}  // namespace skewscope::simulate
