// What one group was matched to, and how processes tell each other.
#pragma once

#include <vector>

#include "call_groups.h"

namespace skewscope::matching {

// The instances of one group, before instances of all groups are put in order.
struct MatchedGroup {
  GroupKey key;
  std::vector<Communicator> inferred;  // that calls without metadata turned out to have
  // first_member counts within the group; communicator is a row of `inferred` where the key knows none.
  std::vector<CollectiveInstance> instances;
  std::vector<int64_t> time_ns;  // per instance: end of its first member on the coarse common clock
  std::vector<CallRef> members;
  std::vector<CallSpan> spans;
  std::vector<BatchLink> links;  // rows of `members`
  std::vector<UnmatchedCall> unmatched;
};

// Those of all processes, by key.
std::vector<MatchedGroup> all_groups(std::vector<MatchedGroup> own, Exchange& exchange);

}  // namespace skewscope::matching
