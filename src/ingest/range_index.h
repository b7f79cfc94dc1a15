// Which ranges of a thread contain a moment, innermost first. Ranges need not nest properly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "skewscope/base/time.h"

namespace skewscope::ingest {

class RangeIndex {
 public:
  struct Range {
    int64_t thread = 0;
    LocalNs start;
    int64_t duration_ns = 0;
    int32_t row = -1;  // of the caller's table
  };

  // O(n log n). Ranges of equal thread and extent keep their order: the later one is the inner one.
  explicit RangeIndex(std::vector<Range> ranges);

  // The row of the innermost range of `thread` with start <= t <= end that `accept(row)` takes; -1: none.
  // O(log n + ranges that were open when the last one before t began).
  template <class Accept>
  int32_t innermost(int64_t thread, LocalNs t, Accept accept) const {
    for (int32_t i = last_started(thread, t); i >= 0; i = enclosing_[static_cast<size_t>(i)]) {
      const Range& range = ranges_[static_cast<size_t>(i)];
      if (range.start + range.duration_ns >= t && accept(range.row)) return range.row;
    }
    return -1;
  }

  // The row of the first range of `thread` that starts in [from, to] and that `accept(row)` takes; -1: none.
  template <class Accept>
  int32_t first_started_in(int64_t thread, LocalNs from, LocalNs to, Accept accept) const {
    for (size_t i = first_not_before(thread, from); i < ranges_.size(); ++i) {
      const Range& range = ranges_[i];
      if (range.thread != thread || range.start > to) break;
      if (accept(range.row)) return range.row;
    }
    return -1;
  }

 private:
  int32_t last_started(int64_t thread, LocalNs t) const;
  size_t first_not_before(int64_t thread, LocalNs t) const;

  std::vector<Range> ranges_;       // sorted by (thread, start, longest first)
  std::vector<int32_t> enclosing_;  // the range still open at this one's start, begun last; -1: none
};

}  // namespace skewscope::ingest
