// Are these members one communicator? Asked where no trace names a group.
//
// Problem: groups that run the same program side by side end their calls at about the same times, too: close ends alone
// do not prove a common collective. And clocks are known from those ends only, so what is constant proves nothing.
// Idea: a late member holds up its own group and nobody else. Suppose the members were two groups or more; put them
// into two halves, S and T, that share none. From call to call S's last arrival comes sooner or later after T's, and
// the end of S must follow it one to one, for transfer times know nothing of who is late. Members of one collective end
// together all the same. So the slope of the difference of ends over the difference of last arrivals is 1 where a group
// ends at the halves' border, and 0 where one collective spans it. Every way to halve the members is asked. Why right:
// whatever is constant (offsets of clocks, a group's slower links) cancels, as only calls of one signature are
// compared; a slope counts as known only when its error is far smaller than 1, by Student's t of so few calls; it must
// not hang on one or two calls. It holds where all members of all groups were seen: an unseen rank may be the late one.
// Cost: O(2^members * calls), of at most 16 members and 256 calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skewscope {

// One call of all members, on one clock (ns); index = member.
struct JointCall {
  uint64_t signature = 0;
  std::vector<int64_t> start_ns, end_ns;
};

// together: one collective spans every two halves of the members. apart: some border is one of groups.
enum class Bond : uint8_t { undecided, together, apart };

// Undecided, too, for fewer than 2 members or more than 16.
Bond bond_of(const std::vector<JointCall>& calls);

// The same of the borders between given blocks of members, over all pairs of blocks at once. Cost: O(blocks^2 * calls).
Bond bond_between(const std::vector<JointCall>& calls, const std::vector<std::vector<size_t>>& blocks);

}  // namespace skewscope
