// How far apart are the clocks of two members, seen from the ends of the collectives they share?
//
// Problem: two sequences of calls of one communicator, recorded on clocks that differ by an unknown offset (up to
// seconds) and drift, over windows that start and stop at different steps, with calls missing. No sequence numbers.
// Idea: all members leave an N-to-N collective together. So every pair of equal-signature calls (i of one, j of the
// other) that really is one collective implies the same offset end_i - end_j; wrong pairs imply scattered ones. Each
// pair votes for its offset and the densest narrow window of votes wins, if it clearly beats the next one
// (shift_votes.h); else the answer is "ambiguous".
// Then a join in time order tracks the offset outwards from the votes (drift), and a resistant line is fitted.
// Why right: a job's steps never repeat to within microseconds, so a shift by whole steps loses most votes. Where they
// do (a perfectly periodic job), two windows tie and the search refuses.
// Cost: O(v log v) for v votes, about 40,000 per pair of members at most (more where one signature comes more than
// 600 times); the join is O(n log n).
// Source: fingerprints of intervals between ends; compare offset voting in Duda 1987's message clouds.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "member_calls.h"
#include "shift_votes.h"

namespace skewscope {

struct ShiftResult {
  ShiftEvidence evidence = ShiftEvidence::none;
  ClockLine line;         // valid unless none or ambiguous
  double scatter_ns = 0;  // median distance of joined ends from the line
  double joined = 1;      // share of the calls that both recorded, on one clock then, whose ends were joined
  std::optional<int64_t> order = {};  // call j is the hub's call j + order: where order found it
  std::vector<int32_t> by_step = {};  // per call the hub's, -1: none; where steps found it, and no one order

  bool found() const { return evidence != ShiftEvidence::none && evidence != ShiftEvidence::ambiguous; }
};

// Median spacing of calls of equal signature; 0 when no signature comes twice.
int64_t typical_spacing_ns(const MemberCalls& calls);

// How close two ends of equal signature must lie to be one instance: a quarter of the 2nd percentile of the spacing of
// equal-signature calls, within [50 us, 5 ms] and at most half of it.
int64_t join_tolerance_ns(const MemberCalls& calls);

// Room to work in, kept from member to member by one thread.
struct VoteRoom {
  std::vector<Vote> votes, spare;
};

// Lays members' clocks over one hub's, in any number of threads.
class ShiftSearch {
 public:
  // `hub` outlives the search.
  explicit ShiftSearch(const MemberCalls& hub);

  // `prior`: the offset member -> hub as other communicators showed it. `one_host`: both traces name the same host, so
  // that their clocks should be one. `named`: the calls name their group.
  ShiftResult find(const MemberCalls& member, std::optional<Prior> prior, bool one_host, bool named,
                   VoteRoom& room) const;

  int64_t tolerance_ns() const { return of_hub_.tolerance_ns; }

 private:
  // Ends and places of calls of one signature, by end.
  struct AlikeCalls {
    std::vector<int64_t> end_ns;
    std::vector<PlaceInStep> place;
  };

  // Among the calls of equal signature.
  static std::vector<PlaceInStep> places_of(const MemberCalls& calls);
  static VoteSteps steps_of(const PlaceInStep& a, const PlaceInStep& b);
  const AlikeCalls* alike(uint64_t signature) const;
  VoteContext context_with(const MemberCalls& member) const;
  int64_t common_calls(const MemberCalls& member, const ClockLine& line) const;
  void collect_votes(const MemberCalls& member, const std::vector<PlaceInStep>& places, size_t center,
                     VoteRoom& room) const;
  std::optional<int64_t> nearest(uint64_t signature, int64_t end_ns) const;
  void track(const MemberCalls& member, size_t from, int step, int64_t offset_ns, std::vector<ClockTie>& ties) const;

  const MemberCalls& hub_;
  std::unordered_map<uint64_t, AlikeCalls> by_signature_;
  VoteContext of_hub_;  // what is the same for all members
};

}  // namespace skewscope
