// Ranks that send to each other exchange time for free, as NTP does.
//
// Problem: a receiver's end comes a fixed while after its sender's (hop, protocol), so one direction alone puts that
// while into the clocks, stage by stage of a pipeline. Idea: where both directions of a link were recorded, the half
// sum of the two end differences of neighbouring transfers is that while, whatever the clocks; the receiver's end minus
// it is a beacon like any other. Why right: with offset o and delay b the differences are o + b and -o + b; drift
// enters only between two neighbours in time. One-way links tie nothing: their delay and their offset are one number.
// Over a network a small message is buffered: its sender leaves before a late receiver comes. Where no sender of a
// direction ever waited, only receivers that held on for longer than senders take are believed.
// Cost: O(n) over sends and receives. Source: the exchange of Cristian 1989 and Mills' NTP, on recorded transfers.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/collective_instance.h"

namespace skewscope::align {

// Two ranks that send to each other in one communicator.
struct TwoWayLink {
  SessionId session;
  CommunicatorId communicator;
  Rank low, high;
  int64_t bias_ns = 0;            // by how much receivers end after their senders, of both directions alike
  std::vector<size_t> instances;  // of either direction, ascending
};

// What a message takes at least, of the shorter call of each: of one that waits for nobody. Neither single short ones
// nor kernels of no length tell.
int64_t usual_transfer_ns(std::vector<int64_t> shorter_ns);
constexpr int64_t kMostTransfers = 20;  // of them in a round trip: else one of the two never waited for the other

// By (session, communicator, low, high).
std::vector<TwoWayLink> two_way_links(const JobTrace& job, const InstanceTable& table);

}  // namespace skewscope::align
