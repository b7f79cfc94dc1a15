// The groups of all dumps, each once, with what each member did in it. Calls of a group go together by sequence number,
// so that ring buffers may have wrapped anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/model/flight_dump.h"

namespace skewscope::hang {

struct Member {
  int32_t rank = -1;
  const FlightDump* dump = nullptr;         // none: the rank left none
  std::vector<const DumpedCall*> calls;     // collectives, by sequence number
  std::vector<const DumpedCall*> messages;  // sends and receives, by record
  int64_t entered = -1;                     // the last collective that its host launched; -1: not known
  int64_t first_pending = -1;               // the first that it did not complete; -1: none
  bool evicted = false;                     // that call is no longer in the ring

  bool completed(int64_t seq) const { return entered >= seq && (first_pending < 0 || seq < first_pending); }
  const DumpedCall* call(int64_t seq) const;  // the first of this number; null: not in the ring
};

struct Group {
  std::string id, name, description;
  std::vector<Member> members;  // by place in the group
  bool messages = false;        // some member sends or receives in it

  const Member* member(int32_t rank) const;
};

struct GroupTable {
  std::vector<Group> groups;                   // by name, numbers before letters
  std::vector<const FlightDump*> dump_of;      // by rank; null: none
  std::vector<char> known;                     // by rank: some dump or group names it
  std::vector<std::vector<int32_t>> group_of;  // by rank and group of its dump; -1: none
  int32_t ranks() const { return static_cast<int32_t>(dump_of.size()); }
};

GroupTable group_table(const std::vector<FlightDump>& dumps, int32_t world_size);

}  // namespace skewscope::hang
