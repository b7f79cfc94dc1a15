// What ran on the GPUs: kernels, copies, fills, graphs, and which stream waited for which.
#pragma once

#include "processes.h"
#include "table_rows.h"

namespace skewscope::ingest {

struct ReadingOf;

void read_kernels(ReadingOf& file);
void read_copies(ReadingOf& file);
void read_fills(ReadingOf& file);
void read_graphs(ReadingOf& file);
void read_stream_waits(ReadingOf& file);

}  // namespace skewscope::ingest
