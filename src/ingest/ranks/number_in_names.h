// Ranks from the number in the names of a job's files that counts its processes: "0.json", "gpu1/trace.json",
// "worker_2.json", "rank_3/step_10.json".
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// Row = row of `files`, of which nothing better tells the rank; empty: no number that must be it.
std::vector<int64_t> numbers_in_names(const std::vector<RankEvidence>& files);

// "trace_4.json", "trace_8.json": names equal but for numbers, which are not called ranks and do not count from 0 as
// ranks do; of one host and no group, and each ends before the next one begins.
bool are_captures_of_one_process(const std::vector<RankEvidence>& files);

}  // namespace skewscope::ingest
