// Files that were cut before the base of their stamps.
#pragma once

#include <vector>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// Adds the base that all other usable files count from to the stamps of a file that has lost its own, with a finding.
void restore_base_times(std::vector<TraceFile>& files);

}  // namespace skewscope::ingest
