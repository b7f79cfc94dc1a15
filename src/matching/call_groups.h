// Which calls may belong together at all: the calls of one communicator in one session; of one ordered pair of ranks
// for send and recv; of one GPU stream where no trace names a communicator.
#pragma once

#include <vector>

#include "collectives/matcher.h"
#include "skewscope/model/collective_instance.h"

namespace skewscope::matching {

struct CallGroup {
  SessionId session;
  CommunicatorId communicator;             // none: to be inferred
  int32_t stream = -1;                     // of an inferred group
  bool pair = false;                       // send/recv: members[0] sends, members[1] receives
  int32_t expected = 0;                    // parts a complete instance has; 0: inferred, not known yet
  std::vector<TraceIndex> members;         // those whose trace is there, sorted
  std::vector<std::vector<int32_t>> rows;  // per member: rows of its trace's calls, sorted by (end, start)
  std::vector<MemberCalls> calls;          // the same calls as the matcher sees them

  Membership membership() const { return communicator.known() ? Membership::known : Membership::inferred; }
};

// Every call is in exactly one group or in `unmatched`.
std::vector<CallGroup> group_calls(const JobTrace& job, std::vector<UnmatchedCall>& unmatched);

}  // namespace skewscope::matching
