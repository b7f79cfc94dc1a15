// Problem: a GPU row and the call that launched it share a correlation id. A runtime call and the driver call within it
// share one, too; and a tracer that starts to count again, or a trace put together from several, gives one id to
// launches that have nothing to do with each other.
//
// Idea: of calls with one id that run within each other the outermost is the launch. Where several launches remain, a
// row belongs to the latest that began before it.
//
// Why it is right: no row starts before its launch, so a row before the second launch is the first one's. A row behind
// it may still be the first one's, if that waited in the queue for as long as ids take to come again: such rows are
// counted.
//
// Cost: linear where ids are in order, as they mostly are, and log n for each GPU row that is not or whose id several
// calls have; 4 bytes per call where any has.
#include "join_launches.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace skewscope::ingest {
namespace {

LocalNs end_of(const LaunchRow& row) { return row.start + std::max<int64_t>(row.duration_ns, 0); }

bool same_id(const LaunchRow& a, const LaunchRow& b) { return a.correlation == b.correlation; }

// Per call the outermost of those around it that have its id; empty: no id comes twice.
std::vector<int32_t> outermost_calls(const std::vector<LaunchRow>& launches) {
  if (std::adjacent_find(launches.begin(), launches.end(), same_id) == launches.end()) return {};
  std::vector<int32_t> outermost(launches.size());
  std::iota(outermost.begin(), outermost.end(), 0);
  for (size_t i = 1; i < launches.size(); ++i) {
    const LaunchRow& around = launches[static_cast<size_t>(outermost[i - 1])];
    if (same_id(around, launches[i]) && around.thread == launches[i].thread && launches[i].start <= end_of(around)) {
      outermost[i] = outermost[i - 1];
    }
  }
  return outermost;
}

class Finder {
 public:
  // `outermost`: outermost_calls(launches).
  Finder(const std::vector<LaunchRow>& launches, const std::vector<int32_t>& outermost)
      : launches_(launches), outermost_(outermost), at_(launches.begin()) {}

  // The first call with this id; -1: none. GPU rows mostly run in the order of their launches.
  int32_t first_of(int64_t correlation) {
    const bool is_next = at_ != launches_.end() && at_->correlation < correlation &&
                         (std::next(at_) == launches_.end() || std::next(at_)->correlation >= correlation);
    at_ = is_next ? std::next(at_)
                  : std::lower_bound(launches_.begin(), launches_.end(), correlation,
                                     [](const LaunchRow& row, int64_t wanted) { return row.correlation < wanted; });
    const bool found = correlation >= 0 && at_ != launches_.end() && at_->correlation == correlation;
    return found ? static_cast<int32_t>(at_ - launches_.begin()) : -1;
  }

  // The latest launch with the id of call `first` that began before `time`; `first` where none did.
  int32_t latest_before(int32_t first, LocalNs time) const {
    const auto begin = launches_.begin() + first;
    if (std::next(begin) == launches_.end() || !same_id(*begin, *std::next(begin))) return first;
    const auto after = std::partition_point(
        begin, launches_.end(), [&](const LaunchRow& row) { return same_id(*begin, row) && row.start <= time; });
    return after == begin ? first : outermost_[static_cast<size_t>(after - launches_.begin()) - 1];
  }

 private:
  const std::vector<LaunchRow>& launches_;
  const std::vector<int32_t>& outermost_;
  std::vector<LaunchRow>::const_iterator at_;
};

}  // namespace

JoinedLaunches join_launches(const FileContent& content) {
  JoinedLaunches joined;
  joined.launch_of.resize(content.gpu.size(), -1);
  const std::vector<int32_t> outermost = outermost_calls(content.launches);
  const auto join = [&](const tbb::blocked_range<size_t>& rows, int64_t ambiguous) {
    Finder finder(content.launches, outermost);
    for (size_t i = rows.begin(); i < rows.end(); ++i) {
      const int32_t first = finder.first_of(content.gpu[i].correlation);
      if (first < 0) continue;
      joined.launch_of[i] = finder.latest_before(first, content.gpu[i].start);
      if (joined.launch_of[i] != first) ++ambiguous;
    }
    return ambiguous;
  };
  joined.ambiguous = tbb::parallel_reduce(tbb::blocked_range<size_t>(0, content.gpu.size(), kRowsPerTask), int64_t{0},
                                          join, std::plus<>());
  return joined;
}

}  // namespace skewscope::ingest
