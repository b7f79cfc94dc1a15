// Ranks of one host that only send one way: is the clock that they share by name good enough to compare them?
//
// One direction ties no clocks by itself (two_way.h), and a host's name alone proves none (node_prior.h). Both together
// may be believed: under NCCL a receiver ends within microseconds of its sender, so where the ends of a link, as
// recorded, lie close together, clocks and delay are both that small, unless they cancel. What they differ by is the
// uncertainty. Traces whose ends lie further apart than any tracer's clocks of one host keep to themselves.
// Cost: O(n log n) over sends.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/clock_model.h"
#include "skewscope/model/collective_instance.h"

namespace skewscope::align {

// Traces on one recorded clock.
struct HostClock {
  std::vector<size_t> traces;  // ascending; at least 2
  int64_t bar_ns = 0;          // half width of a 95 % interval of the difference of two of them
};

// Host clocks among the traces that are in no component yet.
std::vector<HostClock> host_clocks(const JobTrace& job, const InstanceTable& table, const ClockModel& model);

}  // namespace skewscope::align
