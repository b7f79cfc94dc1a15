// Which ranges of a track (a host thread, a stream) contain a moment, innermost first. Ranges need not nest properly.
// Moments mostly come in order: a search begins where the caller's last one ended (`near`, at first 0).
//
// Idea: order the ranges by start; while walking, keep the stack of ranges that are still open. Each range points to
// the one below it. A range that contains t was open when the last range before t began, so it is on that range's
// chain. Memory: 8 bytes per range; its extent is read where it lies.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "skewscope/base/first_after.h"
#include "skewscope/base/sort_runs.h"
#include "skewscope/base/time.h"

namespace skewscope::ingest {

// `Row` has start and duration_ns; track_of(row) says where it lies. Ranges are called by their rows of the table.
template <class Row>
class RangeIndex {
 public:
  RangeIndex() = default;
  // Indexes `rows` of `table`, which must stay as it is. O(n log n). Ranges of equal track and extent keep their order:
  // the later one is the inner one.
  RangeIndex(const std::vector<Row>& table, std::vector<int32_t> rows) : table_(&table), rows_(std::move(rows)) {
    sort_runs(rows_, [&](int32_t a, int32_t b) {
      const Start first = start_of(a), second = start_of(b);
      return first == second ? row(a).duration_ns > row(b).duration_ns : first < second;
    });
    enclosing_.reserve(rows_.size());
    std::vector<int32_t> open;  // places in rows_
    for (size_t i = 0; i < rows_.size(); ++i) {
      while (!open.empty() && !reaches(open.back(), start_of(rows_[i]))) open.pop_back();
      enclosing_.push_back(open.empty() ? -1 : open.back());
      open.push_back(static_cast<int32_t>(i));
    }
  }

  // The innermost range of `track` with start <= t <= end that `accept(row)` takes; -1: none.
  // O(log of the distance from the last search + ranges that were open when the last one before t began).
  template <class Accept>
  int32_t innermost(int64_t track, LocalNs t, size_t& near, Accept accept) const {
    for (int32_t i = last_started(track, t, near); i >= 0; i = enclosing_[static_cast<size_t>(i)]) {
      const int32_t range = rows_[static_cast<size_t>(i)];
      if (end_of(range) >= t && accept(range)) return range;
    }
    return -1;
  }

  // The ranges of `track` that started at or before `t`, the latest first, until `visit(row)` is false.
  template <class Visit>
  void back_from(int64_t track, LocalNs t, size_t& near, Visit visit) const {
    for (int32_t i = last_started(track, t, near); i >= 0; --i) {
      const int32_t range = rows_[static_cast<size_t>(i)];
      if (start_of(range).track != track || !visit(range)) break;
    }
  }

  // The first range of `track` that starts in [from, to] and that `accept(row)` takes; -1: none.
  template <class Accept>
  int32_t first_started_in(int64_t track, LocalNs from, LocalNs to, size_t& near, Accept accept) const {
    for (size_t i = first_after(track, LocalNs{from.ns - 1}, near); i < rows_.size(); ++i) {
      const Start start = start_of(rows_[i]);
      if (start.track != track || start.at > to) break;
      if (accept(rows_[i])) return rows_[i];
    }
    return -1;
  }

 private:
  struct Start {
    int64_t track;
    LocalNs at;
    friend auto operator<=>(const Start&, const Start&) = default;
  };
  const Row& row(int32_t range) const { return (*table_)[static_cast<size_t>(range)]; }
  Start start_of(int32_t range) const { return {track_of(row(range)), row(range).start}; }
  LocalNs end_of(int32_t range) const { return row(range).start + row(range).duration_ns; }
  bool reaches(int32_t place, const Start& start) const {
    const int32_t range = rows_[static_cast<size_t>(place)];
    return track_of(row(range)) == start.track && end_of(range) >= start.at;
  }
  size_t first_after(int64_t track, LocalNs t, size_t& near) const {
    return near = skewscope::first_after(rows_, Start{track, t}, near,
                                         [&](const Start& value, int32_t range) { return value < start_of(range); });
  }
  int32_t last_started(int64_t track, LocalNs t, size_t& near) const {
    const auto last = static_cast<int32_t>(first_after(track, t, near)) - 1;
    return last >= 0 && start_of(rows_[static_cast<size_t>(last)]).track == track ? last : -1;
  }

  const std::vector<Row>* table_ = nullptr;
  std::vector<int32_t> rows_;       // by (track, start, longest first)
  std::vector<int32_t> enclosing_;  // per place: that of the range still open at this one's start, begun last; -1: none
};

}  // namespace skewscope::ingest
