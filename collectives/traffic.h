// Whose bytes S a collective counts, and the bus-bandwidth factor, by the convention of nccl-tests
// (doc/PERFORMANCE.md): algorithm bandwidth = S/t, bus bandwidth = S/t * factor. 1 GB = 1e9 bytes.
#pragma once

#include <cstdint>

#include "collectives/kind.h"

namespace skewscope {

// S in bytes from one member's input and output element counts; n = number of members. 0 when it is not known
// (unknown type, absent counts).
//   all_gather: out; gather: in*n; reduce_scatter: in; scatter: out*n (in = 0 except at the root);
//   recv, send_recv: the larger; others: in.
int64_t message_bytes(CollectiveKind kind, DType type, int64_t in_elements, int64_t out_elements, int64_t members);

// 2(n-1)/n all_reduce; (n-1)/n all_gather, reduce_scatter, all_to_all, gather, scatter; 1 broadcast, reduce, send,
// recv, send_recv. 0 for kinds without a bandwidth (barrier, coalesced, unknown) and for n < 2.
double bus_bandwidth_factor(CollectiveKind kind, int64_t members);

}  // namespace skewscope
