// The calls of one communicator's members -> which of them are one collective.
//
// By key where there is one: calls with equal "Comms Id", else equal "Seq", are one collective, after the key proved
// itself: at least 99 % of the keys held by several members agree in signature, no member holds one twice, and the ends
// of equal keys differ by one offset and drift per member.
// By time where there is none: each member's clock is laid over the hub's (shift_search.h; where ends scatter too far,
// causal_shift.h), then calls of equal signature whose ends lie together are one instance, and those around them by
// order (match_order.h). Calls whose members do not leave together (broadcast, …) are matched by order between the
// instances around them, where all members hold equally many.
// Calls of equal key that disagree in signature are refused as a mismatch.
// Where no trace names the group, the members' communicators are found first (match_unnamed.h), or nothing is matched.
// Every instance must obey causality: nobody leaves before the last one arrived.
// Wrong matches are worse than none: what stays doubtful is returned with its reason.
// Cost: O(n log n) in the number of calls; members are laid over the hub side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "match_method.h"
#include "member_calls.h"

namespace skewscope {

struct MatchOutcome {
  // One call per member and instance; sorted by (instance, member). Instances are numbered by time.
  struct Part {
    int32_t instance, member, call;
  };
  struct Left {
    int32_t member, call;
    UnmatchedReason reason;
  };
  std::vector<Part> parts;
  std::vector<MatchMethod> method;  // per instance
  std::vector<Left> left;           // sorted by (member, call)
  // Which members could be laid over one another, or were joined by keys, directly or by others. -1: none of either.
  std::vector<int32_t> cluster;
  bool settled = true;  // every member with calls was laid over its communicator's others
  // All ends of members that no trace calls a group agree, which proves one where nothing else holds groups in line.
  bool ends_agree = false;
};

MatchOutcome match_members(const std::vector<MemberCalls>& members, Membership membership, const MemberHints& hints);

}  // namespace skewscope
