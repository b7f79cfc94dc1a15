// What the host did: calls of CUDA, and what threads are called.
#pragma once

namespace skewscope::ingest {

struct ReadingOf;

// After the rows of the GPU: processes that launched nothing and ran nothing there are no ranks.
void read_calls(ReadingOf& file);
void read_thread_names(ReadingOf& file);

}  // namespace skewscope::ingest
