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

#include "collectives/kind.h"
#include "shift_votes.h"

namespace skewscope {

// One member's part in one call, on that member's clock.
struct MatchCall {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint64_t signature = 0;
  int64_t seq = -1;
  uint64_t comms_id = 0;
  int64_t step = -1;
  CollectiveKind kind = CollectiveKind::unknown;
  bool bare = false;          // launched before the recording: nothing but the kind is known, and the stream's group
  bool ends_together = true;  // all members of this kind leave together
  bool of_batch = false;      // a message of several: its end is the last one's
  int32_t group_size = 0;     // members, as what goes in and comes out tells; 0: it does not

  // Whether who sends it may be gone before who receives it comes.
  bool is_message() const { return !ends_together && (kind == CollectiveKind::send || kind == CollectiveKind::recv); }
};

// Sorted by (end, start).
using MemberCalls = std::vector<MatchCall>;

// What is known of the members beside these calls, per member; empty: nothing.
struct MemberHints {
  std::vector<std::optional<Prior>> prior;  // offset to a common clock, where other communicators told it
  std::vector<int32_t> host;                // equal: recorded under one host name; -1: not known
  bool lossy = false;                       // calls are missing here and there: equal numbers of them prove no order
  bool alone = false;                       // nothing but these calls holds the members in line
  // Where no trace names a group: the groups that calls of other streams told, a row for each stream. -1: none.
  std::vector<std::vector<int32_t>> group_beside = {};
};

// Maps a member's clock to the hub's: hub = x + offset_ns + slope * (x - center_ns).
struct ClockLine {
  double offset_ns = 0;
  double slope = 0;
  int64_t center_ns = 0;

  int64_t apply(int64_t x) const;
};

// One end seen on two clocks: the member's reading, and hub minus member.
struct ClockTie {
  int64_t member_end_ns;
  int64_t offset_ns;
};

constexpr double kMostDrift = 120e-6;  // of one clock against another: four times the 30 ppm of a crystal oscillator

// Resistant line through ties: medians in at most 12 time bins, Theil-Sen slope over the bins (Theil 1950, Sen 1968),
// at most kMostDrift; an offset alone below 12 ties. `ties` is not empty.
ClockLine resistant_line(std::vector<ClockTie> ties);

struct ShiftResult {
  ShiftEvidence evidence = ShiftEvidence::none;
  ClockLine line;         // valid unless none or ambiguous
  double scatter_ns = 0;  // median distance of joined ends from the line
  double joined = 1;      // share of the calls that both recorded, on one clock then, whose ends were joined
  std::optional<int64_t> order = {};  // call j is the hub's call j + order: where that was what told
  std::vector<int32_t> by_step = {};  // per call the hub's, -1: none; where steps told, and no one order

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
  // A call's step, how many calls of its signature were made in it, and which of them it was.
  struct Place {
    int64_t step = -1;
    int32_t ordinal = 0, of = 0;
  };
  // Ends and places of calls of one signature, by end.
  struct AlikeCalls {
    std::vector<int64_t> end_ns;
    std::vector<Place> place;
  };

  static std::vector<Place> places_of(const MemberCalls& calls);
  static VoteSteps steps_of(const Place& a, const Place& b);
  const AlikeCalls* alike(uint64_t signature) const;
  VoteContext context_with(const MemberCalls& member) const;
  int64_t common_calls(const MemberCalls& member, const ClockLine& line) const;
  void collect_votes(const MemberCalls& member, const std::vector<Place>& places, size_t center, VoteRoom& room) const;
  std::optional<int64_t> nearest(uint64_t signature, int64_t end_ns) const;
  void track(const MemberCalls& member, size_t from, int step, int64_t offset_ns, std::vector<ClockTie>& ties) const;

  const MemberCalls& hub_;
  std::unordered_map<uint64_t, AlikeCalls> by_signature_;
  VoteContext of_hub_;  // what is the same for all members
};

}  // namespace skewscope
