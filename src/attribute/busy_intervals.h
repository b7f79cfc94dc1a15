// The union of intervals, and how much of any span it covers.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/base/first_after.h"
#include "skewscope/model/rank_trace.h"

namespace skewscope::attribute {

class BusyIntervals {
 public:
  // Union of the rows that compute: computation and fills, as in RankSummary::compute_ns.
  explicit BusyIntervals(const GpuEvents& gpu);

  // Nanoseconds of [from, to) covered by the union; 0 for an empty span. O(log n).
  int64_t covered_ns(LocalNs from, LocalNs to) const;

  // The same for spans of which each mostly begins not far from where the one in front ended: O(log intervals between).
  class InOrder {
   public:
    explicit InOrder(const BusyIntervals& busy) : busy_(busy), next_(busy.begin_.size() / 2) {}
    int64_t covered_ns(LocalNs from, LocalNs to);

   private:
    int64_t covered_before(LocalNs t);

    const BusyIntervals& busy_;
    size_t next_;
  };

 private:
  // `after`: the first interval that begins after t.
  int64_t covered_before(LocalNs t, size_t after) const;

  std::vector<int64_t> begin_;   // disjoint, sorted
  std::vector<int64_t> before_;  // covered time before begin_[i]; last: all
};

}  // namespace skewscope::attribute
