// Messages that share a call -> one instance. A call with several messages (send_recv, a batch of sends and receives)
// is matched message by message, each between its own pair of ranks; what they join is put together here:
//
// - two calls that both send and receive: one send_recv;
// - calls of which some have several partners: one `coalesced` instance with links for each message. It is incomplete
// where a message of its calls has no partner.
//
// Programs that keep their ranks in step make chains and rings of one call per rank. Calls that messages join to two of
// one rank, or without end, each rank's next one to the last, are no collective of anybody's: they are left unmatched.
#pragma once

#include <vector>

#include "matched_group.h"

namespace skewscope::matching {

// `groups`: of all processes, by key. Takes calls that are in an instance out of the unmatched: of the groups', and of
// `ungrouped`, those of no group.
void join_messages(const JobTrace& job, std::vector<MatchedGroup>& groups, std::vector<UnmatchedCall>& ungrouped);

}  // namespace skewscope::matching
