// The union of intervals, and how much of any span it covers.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/rank_trace.h"

namespace skewscope::attribute {

class BusyIntervals {
 public:
  // Union of the rows that compute: computation and fills, as in RankSummary::compute_ns.
  explicit BusyIntervals(const GpuEvents& gpu);

  // Nanoseconds of [from, to) covered by the union; 0 for an empty span. O(log n).
  int64_t covered_ns(LocalNs from, LocalNs to) const;

 private:
  int64_t covered_before(LocalNs t) const;

  std::vector<int64_t> begin_, end_;  // disjoint, sorted
  std::vector<int64_t> before_;       // covered time before begin_[i]
};

}  // namespace skewscope::attribute
