#include "skewscope/model/rank_runs.h"

#include <algorithm>
#include <limits>

namespace skewscope {
namespace {

// Numbers beyond stay alone: sums and differences of those within do not overflow.
bool joins_runs(int64_t rank) { return rank >= 0 && rank <= std::numeric_limits<int32_t>::max(); }

}  // namespace

RankRuns::RankRuns(const std::vector<int64_t>& ranks) {
  for (const int64_t rank : ranks) {
    Run* const last = runs_.empty() ? nullptr : &runs_.back();
    const bool may_join = last != nullptr && joins_runs(rank) && joins_runs(last->first);
    if (may_join && last->count == 1) last->stride = rank - last->first;
    if (may_join && rank == last->first + last->count * last->stride) {
      ++last->count;
    } else {
      runs_.push_back({rank, 0, 1});
    }
  }
}

RankRuns RankRuns::progression(int64_t first, int64_t stride, int64_t count) {
  RankRuns list;
  list.runs_.push_back({first, count == 1 ? 0 : stride, count});
  return list;
}

size_t RankRuns::size() const {
  size_t sum = 0;
  for (const Run& run : runs_) sum += static_cast<size_t>(run.count);
  return sum;
}

bool RankRuns::contains(int64_t rank) const {
  return std::any_of(runs_.begin(), runs_.end(), [rank](const Run& run) {
    if (run.stride == 0) return rank == run.first;
    if (!joins_runs(rank)) return false;
    const int64_t place = (rank - run.first) / run.stride;
    return place >= 0 && place < run.count && run.first + place * run.stride == rank;
  });
}

std::vector<int64_t> RankRuns::ranks() const {
  std::vector<int64_t> all;
  all.reserve(size());
  for (const Run& run : runs_) {
    for (int64_t k = 0; k < run.count; ++k) all.push_back(run.first + k * run.stride);
  }
  return all;
}

}  // namespace skewscope
