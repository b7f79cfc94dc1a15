// FileContent -> RankTrace: launches joined to GPU rows, collectives found and given their metadata. What depends on
// other files (rank, session, communicators, global root and peer) stays open for assemble_job.h.
#pragma once

#include "skewscope/model/trace_file.h"
#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// Launches, GPU rows and calls of the whole trace.
LinkedTrace link_calls(FileContent content);

}  // namespace skewscope::ingest
