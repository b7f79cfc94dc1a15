// Which calls may belong together at all: the calls of one communicator in one session; of one ordered pair of ranks
// those that carry messages from the one to the other; of one GPU stream where no trace names a communicator. A call
// with several messages (send_recv, a batch) is in the group of each (join_messages.h puts together what they join).
//
// Each process has the calls of its own traces; a group is matched as a whole. So every group gets a process that owns
// it, the largest groups first and each to the one with the fewest calls so far, and calls go there (all-to-all).
#pragma once

#include <compare>
#include <vector>

#include "collectives/matcher/matcher.h"
#include "skewscope/base/exchange.h"
#include "skewscope/model/collective_instance.h"

namespace skewscope::matching {

// -1 and 0 where a part does not apply. A GPU stream serves one communicator; a CPU backend has no streams, so there
// calls are distinguished by signature.
struct GroupKey {
  SessionId session;
  CommunicatorId communicator;  // none: to be inferred
  int32_t stream = -1;          // of an inferred group
  int32_t from = -1, to = -1;   // ranks: of messages
  uint64_t signature = 0;

  bool pair() const { return from >= 0; }
  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

struct CallGroup {
  GroupKey key;
  std::vector<TraceIndex> members;         // those whose trace is there, sorted; of a pair the order is free
  std::vector<std::vector<int32_t>> rows;  // per member: rows of its trace's calls, sorted by (end, start)
  // In these rows; of the job, or received.
  std::vector<std::vector<const CollectiveCall*>> calls;
  // In a pair's group, likewise: the message of the batch that is in it; nullptr: the call is one message.
  std::vector<std::vector<const BatchMessage*>> messages;
  std::vector<int32_t> host;         // per member: the first trace of its host's name; -1: no name
  std::vector<bool> durations_only;  // per member: RankTrace::durations_only
  Membership membership = Membership::known;
  bool in_bytes = false;   // Communicator::several_tracers: sizes compare, types do not
  bool alone = false;      // the only one of its session: nothing else holds its members in line
  int32_t least_size = 0;  // where not known: of a communicator whose calls these may be, whose others name it

  // A call of a pair's group; for a batch the send or recv that its message is.
  CollectiveCall message(size_t member, size_t row) const;
  // Whether such a message is sent by the call, and its elements; -1: absent.
  bool sends(const CollectiveCall& call) const;
  int64_t elements(const CollectiveCall& call) const;
  // The calls as the matcher sees them.
  std::vector<MemberCalls> matcher_view() const;
};

struct GroupedCalls {
  std::vector<CallGroup> groups;                      // that this process owns, by key
  std::vector<UnmatchedCall> unmatched;               // of its own traces
  std::vector<std::vector<CollectiveCall>> received;  // of those that others hold
  std::vector<std::vector<BatchMessage>> received_messages;
};

// Equal for calls that may be parts of one collective. `in_bytes`: CallGroup's.
uint64_t signature_of(const CollectiveCall& call, bool in_bytes);

// Every call is in exactly one group of one process or in its own process's `unmatched`; one with several messages in a
// group for each, or unmatched for what no peer is known of.
GroupedCalls group_calls(const JobTrace& job, Exchange& exchange);

}  // namespace skewscope::matching
