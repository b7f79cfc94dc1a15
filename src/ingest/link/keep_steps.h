// --steps, for one file: a trace and its details reduced to what was launched in some of its steps.
#pragma once

#include "skewscope/model/keep_steps.h"
#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// Keeps GPU rows and calls launched in these, of the details the host rows that start in those steps and the GPU
// annotations that overlap the time from the first to the last GPU row kept. Fills steps_before_filter.
void keep_steps(TraceFile& file, const StepNumbers& steps);

}  // namespace skewscope::ingest
