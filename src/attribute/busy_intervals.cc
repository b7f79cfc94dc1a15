#include "busy_intervals.h"

#include <algorithm>

namespace skewscope::attribute {

BusyIntervals::BusyIntervals(const GpuEvents& gpu) {
  begin_.reserve(gpu.size());
  before_.reserve(gpu.size() + 1);
  int64_t covered = 0, last_end = INT64_MIN;
  for (size_t i = 0; i < gpu.size(); ++i) {  // rows are sorted by start
    if (gpu.duration_ns[i] == 0 || (gpu.work[i] != GpuWork::compute && gpu.work[i] != GpuWork::memset)) continue;
    const int64_t begin = gpu.start[i].ns, end = begin + gpu.duration_ns[i];
    if (begin_.empty() || begin > last_end) {
      begin_.push_back(begin);
      before_.push_back(covered);
      last_end = begin;
    }
    covered += std::max<int64_t>(end - last_end, 0);
    last_end = std::max(last_end, end);
  }
  before_.push_back(covered);
}

int64_t BusyIntervals::covered_before(LocalNs t, size_t after) const {
  if (after == 0) return 0;
  const int64_t begin = begin_[after - 1], before = before_[after - 1];
  const int64_t end = begin + (before_[after] - before);
  return before + (std::min(t.ns, end) - begin);
}

int64_t BusyIntervals::covered_ns(LocalNs from, LocalNs to) const {
  return to > from ? InOrder(*this).covered_ns(from, to) : 0;
}

int64_t BusyIntervals::InOrder::covered_before(LocalNs t) {
  next_ = first_after(busy_.begin_, t.ns, next_);
  return busy_.covered_before(t, next_);
}

int64_t BusyIntervals::InOrder::covered_ns(LocalNs from, LocalNs to) {
  const int64_t before = covered_before(from);
  return covered_before(to) - before;
}

}  // namespace skewscope::attribute
