// GPU rows and host rows of one file whose stamps count from different moments.
#pragma once

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// Moves the GPU rows to where their launches are, with a finding (gpu-clock-apart). Launches are joined; true: rows
// were moved, and have to be joined again.
bool bring_clocks_together(FileContent& content);

// "4.8 s", "67 min", "54 years".
std::string long_time_words(int64_t ns);

}  // namespace skewscope::ingest
