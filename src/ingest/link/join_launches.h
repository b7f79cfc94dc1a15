// Which call put each GPU row on the GPU.
#pragma once

#include <cstdint>

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// By correlation and start; with them, their details.
void sort_launches(FileContent& content);

// Fills content.gpu.events.launch: the row of content.launches, which are sorted by (correlation, start); -1: none has
// the correlation of this one ("orphan"). Returns how many rows started after a second launch of the same correlation
// had begun.
int64_t join_launches(FileContent& content);

}  // namespace skewscope::ingest
