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
  partners,    // a receiver waits for its sender, a sender for its receiver where it is held until that comes: send,
               // recv; coalesced for each of its messages, where they are known
  none,        // not known: no split                       unknown
};

Dependency dependency_of(CollectiveKind kind);

// Whether a sender was held until its receiver came. Small messages are buffered, larger ones take a rendezvous: one
// who left before the other came did not wait, one who was still there did.
constexpr bool is_held(int64_t sender_end_ns, int64_t receiver_start_ns) { return receiver_start_ns <= sender_end_ns; }

// True when all members leave together, so their ends may tie clocks to each other.
bool ends_together(CollectiveKind kind);

}  // namespace skewscope
