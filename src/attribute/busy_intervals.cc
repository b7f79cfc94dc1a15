#include "busy_intervals.h"

#include <algorithm>

namespace skewscope::attribute {

BusyIntervals::BusyIntervals(const GpuEvents& gpu) {
  int64_t covered = 0;
  for (std::vector<int64_t>* column : {&begin_, &end_, &before_}) column->reserve(gpu.size());
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

int64_t BusyIntervals::covered_before(LocalNs t, size_t after) const {
  if (after == 0) return 0;
  const size_t i = after - 1;
  return before_[i] + std::min(t.ns, end_[i]) - begin_[i];
}

int64_t BusyIntervals::covered_ns(LocalNs from, LocalNs to) const {
  return to > from ? InOrder(*this, from).covered_ns(from, to) : 0;
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
