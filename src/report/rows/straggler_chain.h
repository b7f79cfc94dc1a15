// The worst step as a small timeline: who was late, and in which groups that lateness travelled.
#pragma once

#include "timed_instances.h"

namespace skewscope::report {

constexpr size_t kMostHops = 8, kMostChainRanks = 12, kMostChainCalls = 600;

struct StragglerChain {
  struct Hop {
    int32_t late = -1, victim = -1;  // the victim waited for the late rank
    int32_t communicator = 0;
    int64_t arrival_ns = 0, wait_ns = 0;  // when the late rank came; what the victim waited
  };
  int64_t step = -1;                             // -1: the traces name no steps; the whole window
  std::vector<Hop> hops;                         // from where it shows back to the straggler; empty: nobody was late
  std::vector<int32_t> ranks;                    // shown: the straggler first, then down the chain, then more victims
  std::vector<const JobReport::CallRow*> calls;  // theirs, within the time shown, by start
  size_t left_out = 0;                           // shorter calls that are not shown
};

// The chain of the first of `stragglers` that anybody waited for.
StragglerChain straggler_chain(const std::vector<JobReport::Straggler>& stragglers,
                               const std::vector<TimedInstance>& instances);

}  // namespace skewscope::report
