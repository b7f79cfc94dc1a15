#include "host_line.h"

#include <algorithm>
#include <utility>

#include "skewscope/base/sort_runs.h"

namespace skewscope::blame {
namespace {

// A pause stands out when it is this long, and this many times the usual one.
constexpr int64_t kLongPauseNs = 100'000;
constexpr int64_t kLongPauses = 10;

int64_t long_pause_of(const std::vector<LaunchedRow>& rows) {
  std::vector<int64_t> pauses;
  for (size_t i = 0; i + 1 < rows.size(); ++i) pauses.push_back(rows[i + 1].launch_ns - rows[i].launch_ns);
  return long_pause_among(std::move(pauses));
}

// The fork of the call that ended then; -1: none did.
int32_t fork_that_ended(const std::vector<CallEnd>& ends, int64_t ns) {
  const auto at =
      std::lower_bound(ends.begin(), ends.end(), ns, [](const CallEnd& end, int64_t t) { return end.ns < t; });
  return at == ends.end() || at->ns != ns ? -1 : at->fork;
}

// Between the launch of `row`, behind which no row of the same launch follows, and the next one. from >= until: none.
HostWait wait_behind(const LaunchedRow& row, const HostEnds& ends, int64_t next_launch_ns, int64_t long_pause_ns) {
  const bool read = row.work == GpuWork::memcpy && row.end_ns <= next_launch_ns;
  const bool paused = next_launch_ns - row.launch_ns >= long_pause_ns;
  if (!read && !paused) return {};
  if (ends.all_ns <= next_launch_ns) return {row.returned_ns, ends.all_ns, ends.line_ns, -1};
  if (read) return {row.launch_ns, row.end_ns, row.end_ns, -1};
  if (ends.line_ns <= next_launch_ns) return {row.returned_ns, ends.line_ns, ends.line_ns, -1};
  if (row.returned_ns - row.launch_ns < long_pause_ns || ends.line_ns < row.returned_ns) return {};
  return {row.launch_ns, row.returned_ns, row.returned_ns, -1};
}

}  // namespace

std::vector<LaunchedRow> launched_rows(const RankTrace& trace) {
  const GpuEvents& gpu = trace.gpu;
  std::vector<LaunchedRow> rows;
  rows.reserve(gpu.size());
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (gpu.launch[i] < 0 || gpu.duration_ns[i] == 0) continue;
    const auto launch = static_cast<size_t>(gpu.launch[i]);
    const int64_t launch_ns = trace.launches.start[launch].ns;
    rows.push_back(
        {launch_ns, launch_ns + trace.launches.duration_ns[launch], gpu.start[i].ns + gpu.duration_ns[i], gpu.work[i]});
  }
  sort_runs(rows, [](const LaunchedRow& a, const LaunchedRow& b) { return a.launch_ns < b.launch_ns; });
  return rows;
}

int64_t long_pause_among(std::vector<int64_t> pauses_ns) {
  std::erase(pauses_ns, 0);
  if (pauses_ns.empty()) return kLongPauseNs;
  const auto middle = pauses_ns.begin() + static_cast<ptrdiff_t>(pauses_ns.size() / 2);
  std::nth_element(pauses_ns.begin(), middle, pauses_ns.end());
  return std::max(kLongPauseNs, kLongPauses * *middle);
}

Column<HostWait> host_waits(const std::vector<LaunchedRow>& rows, const std::vector<CallEnd>& call_ends,
                            const HostEnds& before) {
  Column<HostWait> waits;
  const int64_t long_pause_ns = long_pause_of(rows);
  HostEnds ends = before;
  int64_t line_ns = rows.empty() ? 0 : rows.front().launch_ns;
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    ends.add(rows[i].end_ns, rows[i].work);
    if (rows[i + 1].launch_ns == rows[i].launch_ns) continue;
    HostWait wait = wait_behind(rows[i], ends, rows[i + 1].launch_ns, long_pause_ns);
    if (wait.until_ns <= wait.from_ns) continue;
    if (wait.until_ns > wait.line_ns) wait.fork = fork_that_ended(call_ends, wait.until_ns);
    line_ns = wait.line_ns = std::max(line_ns, wait.line_ns);
    waits.push_back(wait);
  }
  return waits;
}

}  // namespace skewscope::blame
