// The calls of a cluster -> candidates: calls of equal signature whose ends lie together on the hub's clock are one.
// Calls whose members do not leave together are joined by order between the candidates around them.
#pragma once

#include <vector>

#include "candidates.h"
#include "hub_cluster.h"

namespace skewscope {

// By ends, then by order, where the members are known to be a communicator: the order of all calls tells only then.
CandidateInstances candidates_of(const std::vector<MemberCalls>& members, const Cluster& cluster,
                                 Membership membership);

}  // namespace skewscope
