// What the communicators that could be matched say of the traces' clocks, to a millisecond: the prior for those that
// could not be matched alone (a single call, a periodic pattern), and the order of instances over all traces.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "call_groups.h"
#include "skewscope/model/clock_model.h"

namespace skewscope::matching {

struct CoarseOffsets {
  std::vector<int64_t> offset_ns;  // per trace: common = local + offset
  std::vector<int32_t> component;  // per trace; offsets compare only within one
};

// Maximum spanning forest over traces; an edge is the median difference of ends that two traces share in one group,
// its weight the number of shared instances. `groups` are those this process owns; the edges of all are exchanged, so
// that all come to the same offsets. O(calls log calls).
CoarseOffsets coarse_offsets(size_t traces, const std::vector<CallGroup>& groups,
                             const std::vector<MatchOutcome>& outcomes, Exchange& exchange);

// The prior for one group: offsets of the members in the component that most of them belong to.
std::vector<std::optional<Prior>> prior_for(const CallGroup& group, const CoarseOffsets& coarse);

// The same from fitted clocks, at the time of each member's middle call.
std::vector<std::optional<Prior>> prior_from_clocks(const CallGroup& group, const ClockModel& clocks);

}  // namespace skewscope::matching
