#include "busy_intervals.h"

#include <algorithm>

#include "skewscope/base/first_after.h"

namespace skewscope::attribute {

BusyIntervals::BusyIntervals(const GpuEvents& gpu) : gpu_(gpu) {
  blocks_.reserve(gpu.size() / kRows + 1);
  Walk walk;
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (i % kRows == 0) blocks_.push_back(walk);
    pass(i, walk);
  }
}

void BusyIntervals::pass(size_t row, Walk& walk) const {
  if (gpu_.work[row] != GpuWork::compute && gpu_.work[row] != GpuWork::memset) return;
  const LocalNs start = gpu_.start[row], end = start + gpu_.duration_ns[row];
  if (end <= walk.end) return;
  walk.covered_ns += end - std::max(start, walk.end);
  walk.end = end;
}

int64_t BusyIntervals::covered_ns(LocalNs from, LocalNs to) const {
  return to > from ? InOrder(*this).covered_ns(from, to) : 0;
}

int64_t BusyIntervals::InOrder::covered_before(LocalNs t) {
  const GpuEvents& gpu = busy_.gpu_;
  // Block i begins with row i * kRows.
  const Walk* first = busy_.blocks_.data();
  near_ = first_after(busy_.blocks_, t, near_, [&](LocalNs time, const Walk& block) {
    return time < gpu.start[static_cast<size_t>(&block - first) * kRows];
  });
  if (near_ == 0) return 0;
  Walk walk = busy_.blocks_[near_ - 1];
  for (size_t i = (near_ - 1) * kRows; i < gpu.size() && gpu.start[i] < t; ++i) busy_.pass(i, walk);
  // What begins before t and ends behind it covers all of what lies between.
  return walk.covered_ns - (walk.end > t ? walk.end - t : 0);
}

int64_t BusyIntervals::InOrder::covered_ns(LocalNs from, LocalNs to) {
  const int64_t before = covered_before(from);
  return covered_before(to) - before;
}

}  // namespace skewscope::attribute
