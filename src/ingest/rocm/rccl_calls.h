// Calls of RCCL's interface as the host made them: the operation, which its kernels (ncclDevKernel_Generic) do not
// tell.
#pragma once

#include <string_view>

#include "src/ingest/content/row_collector.h"

namespace skewscope::ingest {

// "ncclAllReduce" as PyTorch calls it; "": no call that communicates (ncclGroupStart, ncclCommInitRank).
std::string_view collective_of_rccl(std::string_view call);

// The call as the range of the host that holds its launch. The communicator is a pointer of its process, which names no
// group: which ranks took part, the matching finds.
void add_rccl_call(std::string_view collective, LocalNs start, int64_t duration_ns, int64_t thread, RowCollector& rows);

}  // namespace skewscope::ingest
