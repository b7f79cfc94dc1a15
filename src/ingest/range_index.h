// Which ranges of a thread contain a moment, innermost first. Ranges need not nest properly. A search begins where the
// last one ended, as moments mostly come in order: not for several callers at once.
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

  RangeIndex() = default;
  // O(n log n). Ranges of equal thread and extent keep their order: the later one is the inner one.
  explicit RangeIndex(std::vector<Range> ranges);

  // The row of the innermost range of `thread` with start <= t <= end that `accept(row)` takes; -1: none.
  // O(log of the distance from the last search + ranges that were open when the last one before t began).
  template <class Accept>
  int32_t innermost(int64_t thread, LocalNs t, Accept accept) {
    for (int32_t i = last_started(thread, t); i >= 0; i = rests_[static_cast<size_t>(i)].enclosing) {
      const Rest& range = rests_[static_cast<size_t>(i)];
      if (range.end >= t && accept(range.row)) return range.row;
    }
    return -1;
  }

  // Rows of the ranges of `thread` that started at or before `t`, the latest first, until `visit(row)` is false.
  template <class Visit>
  void back_from(int64_t thread, LocalNs t, Visit visit) {
    for (int32_t i = last_started(thread, t); i >= 0; --i) {
      const auto at = static_cast<size_t>(i);
      if (starts_[at].thread != thread || !visit(rests_[at].row)) break;
    }
  }

  // The row of the first range of `thread` that starts in [from, to] and that `accept(row)` takes; -1: none.
  template <class Accept>
  int32_t first_started_in(int64_t thread, LocalNs from, LocalNs to, Accept accept) const {
    for (size_t i = first_not_before(thread, from); i < starts_.size(); ++i) {
      if (starts_[i].thread != thread || starts_[i].at > to) break;
      if (accept(rests_[i].row)) return rests_[i].row;
    }
    return -1;
  }

 private:
  struct Start {
    int64_t thread;
    LocalNs at;
    friend auto operator<=>(const Start&, const Start&) = default;
  };
  struct Rest {
    LocalNs end;
    int32_t row;
    int32_t enclosing;  // the range still open at this one's start, begun last; -1: none
  };
  int32_t last_started(int64_t thread, LocalNs t);
  size_t first_not_before(int64_t thread, LocalNs t) const;

  // Of one range each, by (thread, start, longest first).
  std::vector<Start> starts_;
  std::vector<Rest> rests_;
  size_t near_ = 0;  // where the last search ended
};

}  // namespace skewscope::ingest
