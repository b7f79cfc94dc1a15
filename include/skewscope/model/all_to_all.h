// Data: what the members of a group sent each other in its all-to-alls, and what came of it.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/base/ids.h"

namespace skewscope {

// The bytes that one member sent another, in calls that tell the size of each part: by the word of the sender; where
// its trace tells of fewer calls than the receiver's, by that of the receiver.
struct AllToAllPair {
  int32_t sender = 0, receiver = 0;  // positions in the group
  int64_t bytes = 0, calls = 0;
};

// A dispatch in which some members receive more than others, and the next collective of its group: instances.
struct UnevenDispatch {
  int32_t instance = -1, next = -1;
};

// The sums over one communicator's all-to-alls. Each of them is a dispatch, or it returns what one before it in the
// same step brought: each member receives what it then sent, and sends what it received.
struct AllToAllTotals {
  CommunicatorId communicator;
  int64_t calls = 0;  // matched
  int64_t sized = 0;  // of these: every member is there and tells how much it sent and received
  // By position in the group, over all calls that tell it.
  std::vector<int64_t> sent_bytes, received_bytes;
  int64_t dispatches = 0;                 // of `sized`
  std::vector<int64_t> dispatched_bytes;  // received in dispatches, by position in the group
  int64_t most_dispatched_bytes = 0;      // of each dispatch what the member received that received most
  int64_t waited_ns = 0;                  // in the next collective of the group after a dispatch in which some receive
                                          // more than others
  int64_t waited_for_busiest_ns = 0;      // of it, charged to the members that had received most
  std::vector<UnevenDispatch> uneven;     // in order
  std::vector<AllToAllPair> pairs;        // by sender and receiver; empty where no call tells

  // Position of who received most in dispatches, the first of several; -1: nobody received anything.
  int32_t busiest() const;
  // What the busiest received, in means of the group; -1: nobody received anything.
  double imbalance() const;
  // The same of each dispatch, whoever received most in it; the mean, weighted by bytes.
  double imbalance_per_call() const;
};

}  // namespace skewscope
