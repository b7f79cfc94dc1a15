// Waits of the GPU's streams for one another, where the trace tells them.
#pragma once

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// The waits of the file, by start. When an event was recorded is known by the ids of calls, which go up as a process
// makes them: what it launched before, and what it made wait, has smaller ids than the record. `content`: launches by
// correlation.
Column<StreamWait> stream_waits(const FileContent& content);

}  // namespace skewscope::ingest
