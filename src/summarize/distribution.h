// Describes a sample of numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/rank_tables.h"

namespace skewscope::summarize {

// Sorts the sample.
Distribution distribution_of(std::vector<double>& sample);
// Nearest rank: the smallest with at least `percent` of the sample at or below it. `sorted` is not empty.
int64_t percentile(const std::vector<int64_t>& sorted, size_t percent);

}  // namespace skewscope::summarize
