// Where a row of figures changes for good: the runs of a job over time.
#pragma once

#include <cstddef>
#include <vector>

namespace skewscope::gather {

struct TrendChange {
  size_t at = 0;        // the first figure after it
  double relative = 0;  // of the median after it to the one before it, less 1: 0.12 is 12 % more
};

// `figures`: in the order of time, all above 0. A change is where the median of the next three to five differs from
// that of the last three to five by 5 % or more, and by three times what figures of one side usually differ (median
// absolute deviation); of neighbours the largest.
std::vector<TrendChange> changes_in(const std::vector<double>& figures);

}  // namespace skewscope::gather
