// Idea: sort by start; while walking, keep the stack of ranges that are still open. Each range points to the one below
// it. A range that contains t was open when the last range before t began, so it is on that range's chain.
#include "range_index.h"

#include <algorithm>
#include <tuple>

#include "skewscope/base/first_after.h"
#include "skewscope/base/sort_runs.h"

namespace skewscope::ingest {

RangeIndex::RangeIndex(std::vector<Range> ranges) {
  sort_runs(ranges, [](const Range& a, const Range& b) {
    return std::tie(a.thread, a.start, b.duration_ns) < std::tie(b.thread, b.start, a.duration_ns);
  });
  starts_.reserve(ranges.size());
  rests_.reserve(ranges.size());
  std::vector<int32_t> open;
  for (const Range& range : ranges) {
    const auto closed = [&](int32_t below) {
      return starts_[static_cast<size_t>(below)].thread != range.thread ||
             rests_[static_cast<size_t>(below)].end < range.start;
    };
    while (!open.empty() && closed(open.back())) open.pop_back();
    const auto place = static_cast<int32_t>(starts_.size());
    starts_.push_back({range.thread, range.start});
    rests_.push_back({range.start + range.duration_ns, range.row, open.empty() ? -1 : open.back()});
    open.push_back(place);
  }
}

int32_t RangeIndex::last_started(int64_t thread, LocalNs t) {
  near_ = first_after(starts_, Start{thread, t}, near_);
  if (near_ == 0 || starts_[near_ - 1].thread != thread) return -1;
  return static_cast<int32_t>(near_) - 1;
}

size_t RangeIndex::first_not_before(int64_t thread, LocalNs t) const {
  return static_cast<size_t>(std::lower_bound(starts_.begin(), starts_.end(), Start{thread, t}) - starts_.begin());
}

}  // namespace skewscope::ingest
