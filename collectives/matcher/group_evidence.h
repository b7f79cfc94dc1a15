// Evidence in candidates that their members are one group, where no trace says so. Candidates may be joined by time,
// and then hold only what ends close together.
#pragma once

#include <cstdint>
#include <vector>

#include "candidates.h"
#include "group_proof.h"
#include "hub_cluster.h"

namespace skewscope {

constexpr double kFinestScatter = 1'500;  // ns, of ends; finer scatter is the stamps' own

// The calls that leave together and that all of `who` are in; entry k of a call is who[k]'s.
std::vector<JointCall> joint_calls(const CandidateInstances& candidates, const std::vector<MemberCalls>& members,
                                   const std::vector<int32_t>& who);

// Whether some members' lateness held up all others (group_proof.h).
Bond bond_by_lateness(const CandidateInstances& candidates, const std::vector<MemberCalls>& members,
                      const Cluster& cluster);

// Members that only their ends put together must keep causality to microseconds, or they are several groups.
bool keeps_causality(const CandidateInstances& candidates, const std::vector<MemberCalls>& members);

// Whether every member shares with the hub the calls that both recorded, up to lost kernels: what meets now and then is
// another group of the same program.
bool meet_throughout(const std::vector<MemberCalls>& members, const CandidateInstances& candidates,
                     const Cluster& cluster);

// Whether hardly any call was left out of the candidates of all members because its ends lie too far apart: candidates
// that time joins only where ends happen to lie together say that ends lie together. Where all members have a call
// between two such candidates, it was left out; where some have none, that is lost.
bool in_whole_candidates(const std::vector<MemberCalls>& members, const CandidateInstances& candidates,
                         const Cluster& cluster);

// Whether the ends alone may be believed, where nothing else holds groups in line: within the scatter that members of
// one communicator keep to, the same for all, and placed by more than step numbers, which groups that run the same
// program share.
bool ends_agree(const std::vector<MemberCalls>& members, const CandidateInstances& candidates, const Cluster& cluster);

}  // namespace skewscope
