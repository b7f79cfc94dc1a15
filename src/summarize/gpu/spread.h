// Describes samples: the instances of one row of a table, gaps, depths, rates.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/operator_tables.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope::summarize {

// `durations_ns` is reordered.
TimeSpread spread_of(std::vector<int64_t>& durations_ns);
// The rates 1 / duration; the input as above.
RateSpread rates_of(const std::vector<int64_t>& durations_ns);
// Sorts the sample.
Distribution distribution_of(std::vector<double>& sample);
// Nearest rank: the smallest with at least `percent` of the sample at or below it. `sorted` is not empty.
int64_t percentile(const std::vector<int64_t>& sorted, size_t percent);

}  // namespace skewscope::summarize
