// The union of intervals, and how much of any span it covers.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/rank_trace.h"

namespace skewscope::attribute {

// When the rows ran that compute: computation and fills, as in RankSummary::compute_ns. Keeps what rows have covered at
// each kRows-th row only, and walks from there: 4 bytes per row. `gpu` must outlive this, and is sorted by start.
class BusyIntervals {
 public:
  explicit BusyIntervals(const GpuEvents& gpu);

  // Nanoseconds of [from, to) covered by the union; 0 for an empty span. O(log n).
  int64_t covered_ns(LocalNs from, LocalNs to) const;

  // The same for spans of which each mostly begins not far from where the one in front ended: O(log rows between).
  class InOrder {
   public:
    explicit InOrder(const BusyIntervals& busy) : busy_(busy), near_(busy.blocks_.size() / 2) {}
    int64_t covered_ns(LocalNs from, LocalNs to);

   private:
    int64_t covered_before(LocalNs t);

    const BusyIntervals& busy_;
    size_t near_;  // a block
  };

 private:
  static constexpr size_t kRows = 4;
  // Some rows have been walked: what they cover, and until when.
  struct Walk {
    int64_t covered_ns = 0;
    LocalNs end{INT64_MIN};
  };
  void pass(size_t row, Walk& walk) const;

  const GpuEvents& gpu_;
  std::vector<Walk> blocks_;  // the walk that leads to row i * kRows
};

}  // namespace skewscope::attribute
