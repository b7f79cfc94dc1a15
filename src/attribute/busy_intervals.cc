#include "busy_intervals.h"

#include <algorithm>

namespace skewscope::attribute {

BusyIntervals::BusyIntervals(const GpuEvents& gpu) {
  int64_t covered = 0;
  for (size_t i = 0; i < gpu.size(); ++i) {  // rows are sorted by start
    if (gpu.duration_ns[i] == 0 || (gpu.work[i] != GpuWork::compute && gpu.work[i] != GpuWork::memset)) continue;
    const int64_t begin = gpu.start[i].ns, end = begin + gpu.duration_ns[i];
    if (!end_.empty() && begin <= end_.back()) {
      if (end > end_.back()) {
        covered += end - end_.back();
        end_.back() = end;
      }
      continue;
    }
    begin_.push_back(begin);
    end_.push_back(end);
    before_.push_back(covered);
    covered += end - begin;
  }
}

int64_t BusyIntervals::covered_before(LocalNs t) const {
  const auto after = std::upper_bound(begin_.begin(), begin_.end(), t.ns);
  if (after == begin_.begin()) return 0;
  const auto i = static_cast<size_t>(after - begin_.begin()) - 1;
  return before_[i] + std::min(t.ns, end_[i]) - begin_[i];
}

int64_t BusyIntervals::covered_ns(LocalNs from, LocalNs to) const {
  return to > from ? covered_before(to) - covered_before(from) : 0;
}

}  // namespace skewscope::attribute
