// Idea: sort by start; while walking, keep the stack of ranges that are still open. Each range points to the one below
// it. A range that contains t was open when the last range before t began, so it is on that range's chain.
#include "range_index.h"

#include <algorithm>
#include <tuple>

namespace skewscope::ingest {

RangeIndex::RangeIndex(std::vector<Range> ranges) : ranges_(std::move(ranges)), enclosing_(ranges_.size(), -1) {
  std::stable_sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
    return std::tie(a.thread, a.start, b.duration_ns) < std::tie(b.thread, b.start, a.duration_ns);
  });
  std::vector<int32_t> open;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const auto closed = [&](int32_t below) {
      const Range& range = ranges_[static_cast<size_t>(below)];
      return range.thread != ranges_[i].thread || range.start + range.duration_ns < ranges_[i].start;
    };
    while (!open.empty() && closed(open.back())) open.pop_back();
    if (!open.empty()) enclosing_[i] = open.back();
    open.push_back(static_cast<int32_t>(i));
  }
}

int32_t RangeIndex::last_started(int64_t thread, LocalNs t) const {
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), std::make_tuple(thread, t),
      [](const auto& key, const Range& range) { return key < std::make_tuple(range.thread, range.start); });
  if (after == ranges_.begin() || std::prev(after)->thread != thread) return -1;
  return static_cast<int32_t>(std::prev(after) - ranges_.begin());
}

size_t RangeIndex::first_not_before(int64_t thread, LocalNs t) const {
  const auto found = std::lower_bound(
      ranges_.begin(), ranges_.end(), std::make_tuple(thread, t),
      [](const Range& range, const auto& key) { return std::make_tuple(range.thread, range.start) < key; });
  return static_cast<size_t>(found - ranges_.begin());
}

}  // namespace skewscope::ingest
