// Which streams of the GPU wait for which others, where the trace tells.
#pragma once

#include "file_content.h"

namespace skewscope::ingest {

// By start. Ids of calls go up as a process makes them: what was launched, and which stream
// was made to wait, before an event was recorded has the smaller ones. `content`: launches by correlation.
Column<StreamWait> stream_waits(const FileContent& content);

}  // namespace skewscope::ingest
