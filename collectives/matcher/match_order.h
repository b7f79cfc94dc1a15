// Candidates that ends left incomplete -> whole ones, by the order in which members make their calls.
//
// Problem: ends of one collective scatter by what its last piece takes to travel (a ring over sockets: hundreds of us),
// so a member may lie beyond the tolerance; and calls launched before the recording tell nothing but their operation.
// Idea: a communicator's members make its calls in one order. Candidates that hold all members are fences. Between two
// of them the k-th calls of all members are one candidate, where all hold equally many; in front of the first fence and
// behind the last one calls are counted from the fence, as far as each member's window reaches.
// Why right: nothing is joined but calls that are alike, equally many steps from the fence, and that cause and effect
// allow: where all wait for all, the last one finds the others there; between fences no message is received before it
// is sent, outside them all overlap. And no candidate that ends joined is taken apart: one contradiction, as two lost
// kernels would give, leaves the calls between two fences as they are, and ends the count outside them.
// Cost: O(calls log members), and nothing where every candidate holds all members.
#pragma once

#include <vector>

#include "candidates.h"
#include "hub_cluster.h"

namespace skewscope {

// Joins parts of `candidates` and calls of `rest`, which leave it, to candidates of the method of `cluster`.
void join_by_order(const std::vector<MemberCalls>& members, const Cluster& cluster, std::vector<CallOnHubClock>& rest,
                   CandidateInstances& candidates);

}  // namespace skewscope
