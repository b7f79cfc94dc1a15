// One process that drives several GPUs (nn.DataParallel): collectives among these.
#pragma once

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// Numbers the collectives that the GPUs of this process ran together: CollectiveCall::together. Among
// calls without a group those are the k-th of each GPU, where all GPUs ran equally many of the kind and each of these
// overlaps the others. Returns how many calls that are.
int64_t join_own_devices(const GpuEvents& gpu, LinkedTrace& linked);

}  // namespace skewscope::ingest
