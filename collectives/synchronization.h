// Whose arrival a member's completion waits for. The rule decides what "wait" means for each kind; its source is the
// data dependency of the operation itself (NCCL's kernels pull no data that has not been produced).
#pragma once

#include <cstdint>

#include "collectives/kind.h"

namespace skewscope {

enum class Dependency : uint8_t {
  everyone,    // every member waits for the last of all:   all_reduce, all_gather, reduce_scatter, all_to_all, barrier,
               // send_recv
  root,        // every other member waits for the root:    broadcast, scatter
  root_waits,  // the root waits for all others:            reduce, gather
  partners,    // those of messages wait for each other as batch_waits.h says: send, recv; coalesced, where its messages
               // are known
  none,        // not known: no split                       unknown
};

Dependency dependency_of(CollectiveKind kind);

// Whether one member, the root, has a part of its own, on which the others' waiting depends or which alone waits.
bool has_root(CollectiveKind kind);

// True when all members leave together, so their ends may tie clocks to each other.
bool ends_together(CollectiveKind kind);

}  // namespace skewscope
