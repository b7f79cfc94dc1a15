// Nodes of a job may be recorded by different profilers, and a folder may hold what profilers left of different jobs:
// this says which is which.
#pragma once

#include <vector>

#include "divisions.h"
#include "job_clues.h"

namespace skewscope::ingest {

// Each tracer's files are a part. Two tracers are one part where GPUs are of one vendor and some file of the one was
// recorded while one of the other was, or a process of the one was recorded by the other, too. Files without times go
// with any.
Parts parts_by_tracers(const std::vector<JobClues>& files, const Rows& rows);

}  // namespace skewscope::ingest
