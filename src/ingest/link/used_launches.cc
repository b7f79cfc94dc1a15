#include "used_launches.h"

#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <numeric>

#include "skewscope/base/sort_runs.h"

namespace skewscope::ingest {

// Mostly all launches are used, and ids go up as time goes by.
int64_t UsedLaunches::choose(const FileContent& content) {
  const Column<LocalNs>& starts = content.launches.events.start;
  std::vector<bool> used(starts.size(), false);
  size_t users = 0;
  for (const int32_t launch : content.gpu.events.launch) {
    if (launch < 0) continue;
    used[static_cast<size_t>(launch)] = true;
    ++users;
  }
  all_are_used_ = std::find(used.begin(), used.end(), false) == used.end();
  for (size_t i = 0; i < used.size() && !all_are_used_; ++i) {
    if (used[i]) rows_.push_back(static_cast<int32_t>(i));
  }
  const size_t kept = all_are_used_ ? used.size() : rows_.size();
  const auto start_of = [&](size_t launch) { return starts[row_of(launch)]; };
  size_t in_order = 1;
  while (in_order < kept && start_of(in_order - 1) <= start_of(in_order)) ++in_order;
  if (in_order < kept) {
    by_start_.resize(kept);
    std::iota(by_start_.begin(), by_start_.end(), 0);
    sort_runs(by_start_, [&](int32_t a, int32_t b) {
      return start_of(static_cast<size_t>(a)) < start_of(static_cast<size_t>(b));
    });
  }
  return static_cast<int64_t>(content.gpu.size() - users);
}

void UsedLaunches::keep_in(FileContent& content) const {
  LaunchEvents& launches = content.launches.events;
  if (!all_are_used_ || !by_start_.empty()) {
    std::vector<int32_t> new_row(launches.size(), -1);
    const size_t kept = all_are_used_ ? launches.size() : rows_.size();
    tbb::parallel_invoke(
        [&] {
          if (!all_are_used_) keep(rows_, launches);
          if (!by_start_.empty()) rearrange(by_start_, launches);
        },
        [&] {
          for (size_t i = 0; i < kept; ++i) {
            const size_t launch = by_start_.empty() ? i : static_cast<size_t>(by_start_[i]);
            new_row[row_of(launch)] = static_cast<int32_t>(i);
          }
          for (int32_t& launch : content.gpu.events.launch) {
            if (launch >= 0) launch = new_row[static_cast<size_t>(launch)];
          }
        });
  }
  for (int64_t& ns : launches.duration_ns) ns = std::max<int64_t>(ns, 0);
}

std::vector<bool> launches_of_several(const FileContent& content) {
  std::vector<bool> seen(content.launches.size(), false), several(content.launches.size(), false);
  for (const int32_t launch : content.gpu.events.launch) {
    if (launch < 0) continue;
    const auto row = static_cast<size_t>(launch);
    if (seen[row]) several[row] = true;
    seen[row] = true;
  }
  return several;
}

}  // namespace skewscope::ingest
