// Data: who talks to whom. A communicator is a member set and a name: the name alone is not an identity
// (tensor-parallel groups of different ranks share names), and neither is the set alone (two communicators over the
// same ranks).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/base/ids.h"

namespace skewscope {

// Where the member list came from, most trusted first.
enum class MembersSource : uint8_t {
  process_group_config,  // distributedInfo.pg_config of a member's trace
  call_ranks,            // "Process Group Ranks" of a call, complete
  progression,           // start and stride, or a cut list continued as first + i * (second - first)
  observed,              // ranks whose traces carry the same (name, visible prefix, size): at least these
  inferred,              // no metadata at all: ranks whose calls end together
};
const char* to_string(MembersSource source);

struct Communicator {
  std::string name;           // "Process Group Name"; "stream 84" for an inferred one
  std::string description;    // "Process Group Description"; may be empty
  std::vector<Rank> members;  // sorted, unique; the position is the rank inside the group
  int32_t size = 0;           // number of members by metadata; > members.size() where the list is known in part only
  MembersSource source = MembersSource::inferred;
  bool several_tracers = false;  // recorded its calls: they may call the types of elements otherwise

  bool members_known() const { return static_cast<size_t>(size) == members.size(); }
};

struct CommunicatorTable {
  std::vector<Communicator> communicators;  // row = CommunicatorId; sorted by (members, name)

  const Communicator& operator[](CommunicatorId id) const { return communicators[id.index()]; }
  size_t size() const { return communicators.size(); }
};

// Empty when members are sorted and unique and sizes agree; else the first violation, in words.
std::string check_invariants(const CommunicatorTable& table);

}  // namespace skewscope
