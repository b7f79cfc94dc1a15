// NVTX_EVENTS: ranges of the program, of its libraries and of NCCL.
#pragma once

#include "payloads.h"

namespace skewscope::ingest {

struct ReadingOf;

// After the calls of CUDA.
void read_ranges(const PayloadSchemas& schemas, ReadingOf& file);

// Only those in which processes join communicators: who they are in them.
void read_communicators(const PayloadSchemas& schemas, ReadingOf& file);

}  // namespace skewscope::ingest
