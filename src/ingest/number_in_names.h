// Ranks from the one number in which the names of a job's files differ: "0.json", "gpu1/trace.json", "worker_2.json".
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// Row = row of `files`, of which nothing better tells the rank; empty: no number that must be it.
std::vector<int64_t> numbers_in_names(const std::vector<RankEvidence>& files);

}  // namespace skewscope::ingest
