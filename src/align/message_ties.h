// Messages exchange time by starts, too, where their ends tell nothing (two_way.h): a kernel with several messages ends
// with its last, a buffered one's sender is gone before its receiver comes.
//
// Problem: a message arrives after its sender's kernel has started, by a while that nobody knows. Idea: with offset o
// and at least a transfer b in between, a receiver's end less its sender's start is o + b or more in one direction,
// -o + b or more in the other; the smallest of both sum to twice b. Those that come near to it (by no more than the
// two transfers) are of receivers that waited for just this message. The receiver's end minus b and the sender's start
// are a beacon. Why right: cause and effect bound each difference from one side, however long a kernel holds on for its
// other messages; what the transfers of both directions differ by is no more than b, and is in the uncertainty.
// Who is always later than the other's messages never waits for them: then one direction takes as long as it is late.
// There the other one ties alone, by receivers that held on in a kernel of this message only: b is that of the other
// pairs, or some of what short calls take, and is as large in the uncertainty as it is; where the clocks as recorded
// explain what was seen, they stay. Drift enters only within a stratum of time. Cost: O(n log n) over messages. Source:
// Mills' NTP clock filter (least round trip), on recorded messages.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/collective_instance.h"
#include "two_way.h"

namespace skewscope::align {

// One message: rows of InstanceTable::members.
struct MessageTie {
  size_t instance;
  uint32_t from, to;
  double excess_ns;  // over the quickest of its direction and time
};

// Two ranks in one communicator.
struct TiedPair {
  SessionId session;
  CommunicatorId communicator;
  Rank low, high;
  int64_t transfer_ns = 0;       // from a sender's start to a receiver's end at least
  int64_t hop_ns = 0;            // by how much that may be wrong
  std::vector<MessageTie> ties;  // by instance
};

// The pairs with batches, and those that `by_ends` lacks; by (session, communicator, low, high).
std::vector<TiedPair> message_ties(const JobTrace& job, const InstanceTable& table,
                                   const std::vector<TwoWayLink>& by_ends);

}  // namespace skewscope::align
