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

#include "skewscope/base/sort_runs.h"

namespace skewscope::ingest {
namespace {

LocalNs end_of(const LaunchEvents& calls, size_t i) {
  return calls.start[i] + std::max<int64_t>(calls.duration_ns[i], 0);
}

// Per call the outermost of those around it that have its id; empty: no id comes twice.
std::vector<int32_t> outermost_calls(const LaunchRows& launches) {
  const NearNumbers& ids = launches.correlation;
  size_t repeated = 1;
  while (repeated < ids.size() && ids[repeated] != ids[repeated - 1]) ++repeated;
  if (repeated >= ids.size()) return {};
  const LaunchEvents& calls = launches.events;
  std::vector<int32_t> outermost(launches.size());
  std::iota(outermost.begin(), outermost.end(), 0);
  for (size_t i = 1; i < launches.size(); ++i) {
    const auto around = static_cast<size_t>(outermost[i - 1]);
    if (ids[around] == ids[i] && calls.thread[around] == calls.thread[i] && calls.start[i] <= end_of(calls, around)) {
      outermost[i] = outermost[i - 1];
    }
  }
  return outermost;
}

class Finder {
 public:
  // `outermost`: outermost_calls(launches).
  Finder(const LaunchRows& launches, const std::vector<int32_t>& outermost)
      : ids_(launches.correlation), starts_(launches.events.start), outermost_(outermost) {}

  // The first call with this id; -1: none. GPU rows mostly run in the order of their launches.
  int32_t first_of(int64_t id) {
    const bool is_next = at_ < ids_.size() && ids_[at_] < id && (at_ + 1 == ids_.size() || ids_[at_ + 1] >= id);
    at_ = is_next ? at_ + 1 : first_row(0, [&](size_t row) { return ids_[row] >= id; });
    const bool found = id >= 0 && at_ < ids_.size() && ids_[at_] == id;
    return found ? static_cast<int32_t>(at_) : -1;
  }

  // The latest launch with the id of call `first` that began before `time`; `first` where none did.
  int32_t latest_before(int32_t first, LocalNs time) const {
    const auto begin = static_cast<size_t>(first);
    const int64_t id = ids_[begin];
    if (begin + 1 == ids_.size() || ids_[begin + 1] != id) return first;
    const size_t after = first_row(begin, [&](size_t row) { return ids_[row] > id || starts_[row] > time; });
    return after == begin ? first : outermost_[after - 1];
  }

 private:
  // The first row from `begin` on for which `holds`; those for which it does not come before.
  template <class Holds>
  size_t first_row(size_t begin, const Holds& holds) const {
    size_t end = ids_.size();
    while (begin < end) {
      const size_t middle = begin + (end - begin) / 2;
      holds(middle) ? end = middle : begin = middle + 1;
    }
    return begin;
  }

  const NearNumbers& ids_;
  const Column<LocalNs>& starts_;
  const std::vector<int32_t>& outermost_;
  size_t at_ = 0;
};

}  // namespace

void sort_launches(FileContent& content) {
  LaunchRows& rows = content.launches;
  const auto before = [&](int32_t a, int32_t b) {
    const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
    const int64_t first = rows.correlation[i], second = rows.correlation[j];
    return first == second ? rows.events.start[i] < rows.events.start[j] : first < second;
  };
  std::vector<int32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  if (std::is_sorted(order.begin(), order.end(), before)) return;
  sort_runs(order, before);
  rearrange(order, rows);
  if (content.details) content.details->launches = gathered(content.details->launches, order);
}

int64_t join_launches(FileContent& content) {
  GpuRows& gpu = content.gpu;
  Column<int32_t>& launch_of = gpu.events.launch;
  launch_of.assign(gpu.size(), -1);
  const std::vector<int32_t> outermost = outermost_calls(content.launches);
  const auto join = [&](const tbb::blocked_range<size_t>& rows, int64_t ambiguous) {
    Finder finder(content.launches, outermost);
    for (size_t i = rows.begin(); i < rows.end(); ++i) {
      const int32_t first = finder.first_of(gpu.correlation[i]);
      if (first < 0) continue;
      launch_of[i] = finder.latest_before(first, gpu.events.start[i]);
      if (launch_of[i] != first) ++ambiguous;
    }
    return ambiguous;
  };
  return tbb::parallel_reduce(tbb::blocked_range<size_t>(0, gpu.size(), kRowsPerTask), int64_t{0}, join, std::plus<>());
}

}  // namespace skewscope::ingest
