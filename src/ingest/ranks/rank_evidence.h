#pragma once

#include "skewscope/model/trace_file.h"
#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// What a file says of its rank, by its content alone; the window and what the name tells are the caller's.
RankEvidence evidence_of(const FileContent& content);

}  // namespace skewscope::ingest
