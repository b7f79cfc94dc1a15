// Members gathered around one of them, the hub: whose clocks can be laid over its clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "match_method.h"
#include "member_calls.h"

namespace skewscope {

struct Cluster {
  int32_t hub = -1;
  std::vector<int32_t> members;
  std::vector<ClockLine> lines;    // per entry of members: to the hub's clock
  std::vector<double> scatter_ns;  // per entry of members: of its ends around the line
  MatchMethod method = MatchMethod::fingerprint;
  int64_t tolerance_ns = 0;
  // Per entry of members: call j is the hub's call j + order, where order laid the clocks over one another.
  std::vector<std::optional<int64_t>> order;
  std::vector<std::vector<int32_t>> by_step;  // per entry of members: per call the hub's, where steps did
  bool lossy = false;                         // then order alone proves nothing
};

// Takes the one of `open` with most calls as hub and gathers all whose calls can be laid over it. Marks the members for
// whom several shifts tie.
Cluster gather_around_hub(const std::vector<MemberCalls>& members, const std::vector<int32_t>& open,
                          Membership membership, const MemberHints& hints, std::vector<bool>& ambiguous);

// The members of a cluster whose entry `keep` wants, around the same hub.
Cluster part_of(const Cluster& cluster, const std::function<bool(size_t)>& keep);

}  // namespace skewscope
