// --steps: a trace reduced to what was launched in some of its steps.
#pragma once

#include <cstdint>
#include <utility>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// Keeps GPU rows and calls launched in `steps.first` <= ProfilerStep number < `steps.second`; what lies outside every
// step counts as step -1. Fills steps_before_filter. Of the details: host rows that start in those steps, and GPU
// annotations that overlap the time from the first to the last GPU row kept.
void keep_steps(TraceFile& file, std::pair<int64_t, int64_t> steps);

}  // namespace skewscope::ingest
