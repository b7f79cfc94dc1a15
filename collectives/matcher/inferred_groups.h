// Which members are one communicator, where no trace names a group.
//
// Close ends alone may be those of any of several groups that run the same program side by side: something else may
// hold these in line. All members are one group where they held each other up (group_proof.h); where other streams make
// some blocks likely, and the ends vary less than the blocks' arrivals would make them; or, where these calls are all
// there are, where all ends agree to microseconds. Several groups are distinguished, where no rank is missing: by sizes
// that the calls tell, by the scatter of pairs of ends (group_blocks.h), or, where calls are lost, by ends that lie
// clearly closer to one member's than the others' do; all of one size, and each held together by its own lateness. What
// is not decided so is none.
#pragma once

#include <vector>

#include "candidates.h"
#include "hub_cluster.h"

namespace skewscope {

struct InferredGroup {
  Cluster cluster;
  CandidateInstances candidates;
};

struct InferredGroups {
  std::vector<InferredGroup> groups;  // all members', or none
  bool ends_agree = false;            // as MatchOutcome says
};
InferredGroups find_groups(const std::vector<MemberCalls>& members, Membership membership, const MemberHints& hints);

}  // namespace skewscope
