#include "stream_waits.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace skewscope::ingest {
namespace {

using Moment = std::pair<int64_t, LocalNs>;  // id of a call, its start

// The last launch with a smaller id; none: before everything that was recorded.
LocalNs launched_before(const LaunchRows& launches, int64_t correlation) {
  size_t begin = 0, end = launches.size();
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    launches.correlation[middle] < correlation ? begin = middle + 1 : end = middle;
  }
  return begin == 0 ? LocalNs{} : launches.events.start[begin - 1];
}

LocalNs waited_before(const std::vector<Moment>& waits, int64_t correlation) {
  const auto after =
      std::partition_point(waits.begin(), waits.end(), [&](const Moment& wait) { return wait.first < correlation; });
  return after == waits.begin() ? LocalNs{} : std::prev(after)->second;
}

}  // namespace

Column<StreamWait> stream_waits(const FileContent& content) {
  Column<StreamWait> waits;
  if (content.stream_waits.empty()) return waits;
  std::vector<Moment> moments;
  for (const StreamWaitRow& row : content.stream_waits) moments.emplace_back(row.correlation, row.start);
  std::sort(moments.begin(), moments.end());
  for (const StreamWaitRow& row : content.stream_waits) {
    StreamWait wait{row.start, row.stream, -1, row.start};
    if (row.source >= 0 && row.recorded_by >= 0 && row.recorded_by < row.correlation) {
      const LocalNs ahead =
          std::max(launched_before(content.launches, row.recorded_by), waited_before(moments, row.recorded_by));
      wait.source = row.source;
      wait.recorded = std::min(row.start, ahead);
    }
    waits.push_back(wait);
  }
  std::stable_sort(waits.begin(), waits.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  return waits;
}

}  // namespace skewscope::ingest
