// What groups were matched to -> the table of all instances, the same in every process.
//
// A process describes the instances of the groups it owns (it alone has all their calls) and tells all others; each
// puts the groups in order of their keys, the instances in order of session, communicator and time, and so comes to the
// same table, whoever owned what.
#pragma once

#include <vector>

#include "call_groups.h"
#include "coarse_offsets.h"

namespace skewscope::matching {

InstanceTable number_instances(const JobTrace& job, GroupedCalls calls, const std::vector<MatchOutcome>& outcomes,
                               Exchange& exchange);

}  // namespace skewscope::matching
