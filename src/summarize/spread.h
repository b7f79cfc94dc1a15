// Statistics over the instances of one row of a table.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/operator_tables.h"

namespace skewscope::summarize {

// `durations_ns` is reordered.
TimeSpread spread_of(std::vector<int64_t>& durations_ns);
// Of 1 / duration; the input as above.
RateSpread rates_of(const std::vector<int64_t>& durations_ns);

}  // namespace skewscope::summarize
