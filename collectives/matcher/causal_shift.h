// Which calls of two members are one collective, where their ends lie too far apart to tell?
//
// Problem: over sockets, on busy hosts, ends of one collective scatter by milliseconds, and a sender whose message is
// buffered has left before its receiver comes: no offset collects votes.
// Idea: a communicator's members make its calls in one order, and nobody leaves before those arrived whom it waits for.
// Call j of one and j + k of the other are one collective only where some offset keeps all pairs to that, within the
// prior's error, without a prior within what wall clocks err. Believed is the one k that does; of several, without a
// prior, and of sends and receives, where only the receiver waits, the one whose pairs all have the same place in the
// same step.
// Why right: it may only refuse: the calls shared must be alike one by one, at least five and half of what the smaller
// one recorded.
// Cost: O(n log n) where steps tell k; else O(n) per k, mostly ended by the first pairs, and nothing is tried for
// members of more than 4,096 calls.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "shift_search.h"

namespace skewscope {

// Lays members over one hub, in any number of threads.
class CausalSearch {
 public:
  // `hub` outlives the search.
  explicit CausalSearch(const MemberCalls& hub);

  // The member's clock to the hub's: the middle of the ends, within what causality allows; and `order`. none: no k is
  // believed.
  ShiftResult find(const MemberCalls& member, std::optional<Prior> prior) const;
  // The same for messages of which some are lost: step by step, where both made equally many in it; and `by_step`.
  ShiftResult find_by_step(const MemberCalls& member, std::optional<Prior> prior) const;

 private:
  std::vector<int32_t> partners_by_step(const MemberCalls& member) const;
  std::optional<int64_t> shift_by_places(const MemberCalls& member) const;

  const MemberCalls& hub_;
  std::vector<PlaceInStep> places_;
  std::map<std::pair<int64_t, int32_t>, int64_t> call_at_;  // counted from the step's front, and from its end
};

// Per call of the member: whether the hub's call `order` further has the same place in the same step, of equally many.
std::vector<bool> at_one_place_in_step(const MemberCalls& hub, const MemberCalls& member, int64_t order);

}  // namespace skewscope
