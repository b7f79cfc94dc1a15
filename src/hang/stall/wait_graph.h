// Who waits for whom: each rank is in its first call that is not completed, and waits there for members that did
// not enter it, or that are in an earlier call of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "src/hang/stall/group_table.h"
#include "src/hang/stall/mismatches.h"

namespace skewscope::hang {

struct Standing {
  int32_t group = -1;                // -1: in no call
  int64_t seq = -1;                  // of a collective; -1: a message
  const DumpedCall* call = nullptr;  // null: no longer in the ring
  std::vector<int32_t> missing;      // members with a dump that did not enter it
  std::vector<int32_t> without_dump;
  std::vector<int32_t> elsewhere;  // entered, and are in another call
  // A call that others completed and this rank did not, of a kind that nobody completes alone: its GPU does not go on.
  int32_t stuck_group = -1;
  int64_t stuck_seq = -1;
  int32_t stuck_peer = -1;  // one that completed it
  int32_t stuck_calls = 0;  // such calls in all groups

  bool stands() const { return group >= 0; }
  bool stuck() const { return stuck_group >= 0; }
};

struct WaitGraph {
  std::vector<Standing> standing;               // by rank
  std::vector<std::vector<int32_t>> waits_for;  // by rank, without repetition: missing ones first
  std::vector<std::vector<int32_t>> last;       // sets of ranks that wait for nobody outside; by first rank
  // Sets of several that wait for nobody outside but for ranks without a dump, which may be the reason, or not.
  std::vector<std::vector<int32_t>> last_seen;
};

WaitGraph wait_graph(const GroupTable& table, const std::vector<Mismatch>& mismatches);

}  // namespace skewscope::hang
