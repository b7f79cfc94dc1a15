// What the name of a trace file says about its rank and its capture. Names are a convention, not a contract: content is
// asked first (rank_resolution.h).
#pragma once

#include <string>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// `path`: folders and file name; folders "iteration_<N>" and "step_<N>" name captures.
FileNameFacts read_file_name(const std::string& path);

}  // namespace skewscope::ingest
