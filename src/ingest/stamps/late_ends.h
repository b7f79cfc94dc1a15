// Rows that end seconds behind all that the rest of the file allows.
#pragma once

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// Cuts them, with a finding for each kind (end-out-of-range, launch-end-out-of-range, step-end-out-of-range). Launches
// are joined, and stay so.
void cut_late_ends(FileContent& content);

}  // namespace skewscope::ingest
