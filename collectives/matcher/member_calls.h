// The calls of a communicator's members, as the matcher takes them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "clock_line.h"
#include "collectives/kind.h"

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

// What is known of the members in addition to these calls, per member; empty: nothing.
struct MemberHints {
  std::vector<std::optional<Prior>> prior;  // offset to a common clock, where other communicators showed it
  std::vector<int32_t> host;                // equal: recorded under one host name; -1: not known
  bool lossy = false;                       // calls are missing here and there: equal numbers of them prove no order
  bool alone = false;                       // nothing but these calls holds the members in line
  // Where no trace names a group: the groups found for the calls of other streams, a row for each stream. -1: none.
  std::vector<std::vector<int32_t>> group_on_other_streams = {};
};

// Whether the members are known to form a communicator, and, where they are not, whether no rank of the job is missing:
// who was held up by whose lateness tells groups only then (inferred_groups.h).
enum class Membership : uint8_t { known, inferred, inferred_of_all_ranks };

std::vector<int32_t> members_with_calls(const std::vector<MemberCalls>& members);

// A call's step, how many calls the member made in it, and which of them it was.
struct PlaceInStep {
  int64_t step = -1;
  int32_t ordinal = 0, of = 0;

  bool operator==(const PlaceInStep&) const = default;
};
std::vector<PlaceInStep> places_in_steps(const MemberCalls& calls);

// Whether these are calls whose ends need not lie together: a message may be buffered.
bool sends_or_receives(const MemberCalls& calls);

// Whether some are messages of batches: their ends tell nothing, so that few may have to do.
bool any_of_batch(const MemberCalls& calls);

// Whether two calls may be parts of one collective.
bool alike(const MatchCall& a, const MatchCall& b);

}  // namespace skewscope
