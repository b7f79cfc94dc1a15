#include "host_line.h"

#include <algorithm>
#include <utility>

#include "skewscope/base/middle.h"
#include "skewscope/base/sort_runs.h"

namespace skewscope::blame {
namespace {

// A pause differs clearly when it is this long, and this many times the usual one.
constexpr int64_t kLongPauseNs = 100'000;
constexpr int64_t kLongPauses = 10;
// Launches of other threads while one waits.
constexpr int64_t kMostBesideWait = 1000;

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

// What was launched, by when it ended.
class EndedRows {
 public:
  explicit EndedRows(const std::vector<LaunchedRow>& rows) : by_end_(rows) {
    sort_runs(by_end_, [](const LaunchedRow& a, const LaunchedRow& b) { return a.end_ns < b.end_ns; });
  }

  // The row launched before `from_ns` that ended last between `from_ns` and `until_ns`; null: none did, or more were
  // launched meanwhile than other threads launch during a wait.
  const LaunchedRow* last_between(int64_t from_ns, int64_t until_ns) const {
    const auto after = std::partition_point(by_end_.begin(), by_end_.end(),
                                            [&](const LaunchedRow& row) { return row.end_ns <= until_ns; });
    int64_t looked_at = 0;
    for (auto at = after; at != by_end_.begin() && std::prev(at)->end_ns > from_ns; --at) {
      if (std::prev(at)->launch_ns < from_ns) return &*std::prev(at);
      if (++looked_at == kMostBesideWait) break;
    }
    return nullptr;
  }

 private:
  std::vector<LaunchedRow> by_end_;
};

// `ends`: of what had been launched. from >= until: what it waited for had ended, or nobody saw it.
HostWait wait_in(const SynchronizingCall& call, const EndedRows& rows, const HostEnds& ends, const HostEnds& before) {
  const int64_t from_ns = call.start.ns, returned_ns = from_ns + call.duration_ns;
  const LaunchedRow* row = rows.last_between(from_ns, returned_ns);
  const int64_t before_ns = before.all_ns <= returned_ns ? before.all_ns : INT64_MIN;
  if (row == nullptr || row->end_ns <= before_ns) return {from_ns, before_ns, before_ns, -1};
  const bool line_is_through = row->work != GpuWork::communication;
  if (line_is_through) return {from_ns, row->end_ns, row->end_ns, -1};
  return {from_ns, row->end_ns, ends.line_ns <= row->end_ns ? ends.line_ns : INT64_MIN, -1};
}

// In the call that launched `row` itself.
HostWait wait_within(const LaunchedRow& row, const HostEnds& ends, int64_t long_pause_ns) {
  if (row.on_host) return {row.launch_ns, row.returned_ns, INT64_MIN, -1};
  if (row.work == GpuWork::memcpy && row.end_ns <= row.returned_ns) return {row.launch_ns, row.end_ns, row.end_ns, -1};
  if (row.returned_ns - row.launch_ns < long_pause_ns || ends.line_ns < row.returned_ns) return {};
  return {row.launch_ns, row.returned_ns, row.returned_ns, -1};
}

// Between the launch of `row`, behind which no row of the same launch follows, and the next one. from >= until: none.
HostWait wait_behind(const LaunchedRow& row, const HostEnds& ends, int64_t next_launch_ns, int64_t long_pause_ns) {
  const bool read = row.work == GpuWork::memcpy && row.end_ns <= next_launch_ns;
  const bool paused = next_launch_ns - row.launch_ns >= long_pause_ns;
  if (!read && !paused) return {};
  if (ends.all_ns <= next_launch_ns) return {row.returned_ns, ends.all_ns, ends.line_ns, -1};
  if (read) return {row.launch_ns, row.end_ns, row.end_ns, -1};
  if (ends.line_ns <= next_launch_ns) return {row.returned_ns, ends.line_ns, ends.line_ns, -1};
  return wait_within(row, ends, long_pause_ns);
}

// Waits in the order of time, each behind the one in front of it.
class WaitList {
 public:
  WaitList(int64_t line_ns, const std::vector<CallEnd>& call_ends) : line_ns_(line_ns), call_ends_(call_ends) {}

  void add(HostWait wait) {
    wait.from_ns = std::max(wait.from_ns, waits_.empty() ? INT64_MIN : waits_.back().until_ns);
    if (wait.until_ns <= wait.from_ns) return;
    if (wait.until_ns > wait.line_ns) wait.fork = fork_that_ended(call_ends_, wait.until_ns);
    line_ns_ = wait.line_ns = std::max(line_ns_, wait.line_ns);
    waits_.push_back(wait);
  }
  Column<HostWait> take() { return std::move(waits_); }

 private:
  Column<HostWait> waits_;
  int64_t line_ns_;
  const std::vector<CallEnd>& call_ends_;
};

// Whether a call is between launches: the last is the tracer's own, when it stops.
bool has_synchronizing(const std::vector<LaunchedRow>& rows, const Column<SynchronizingCall>& calls) {
  return !rows.empty() && std::any_of(calls.begin(), calls.end(), [&](const SynchronizingCall& call) {
    return call.start.ns > rows.front().launch_ns && call.start.ns < rows.back().launch_ns;
  });
}

// Whether `call` begins behind all that was launched before it: it waited for that.
bool begins_behind(const LaunchedRow& call, const HostEnds& ends) {
  return call.on_host && ends.all_ns > INT64_MIN && ends.all_ns <= call.launch_ns;
}

Column<HostWait> synchronizing_waits(const std::vector<LaunchedRow>& rows, const Column<SynchronizingCall>& calls,
                                     WaitList waits, const HostEnds& before) {
  const int64_t long_pause_ns = long_pause_of(rows);
  const EndedRows ended(rows);
  HostEnds ends = before;
  size_t next = 0;
  int64_t returned_ns = rows.front().launch_ns;  // the launch before
  for (const LaunchedRow& row : rows) {
    for (; next < calls.size() && calls[next].start.ns < row.launch_ns; ++next) {
      waits.add(wait_in(calls[next], ended, ends, before));
    }
    if (begins_behind(row, ends)) waits.add({returned_ns, ends.all_ns, ends.line_ns, -1});
    ends.add(row.end_ns, row.work);
    waits.add(wait_within(row, ends, long_pause_ns));
    returned_ns = row.returned_ns;
  }
  return waits.take();
}

Column<HostWait> waits_in_pauses(const std::vector<LaunchedRow>& rows, WaitList waits, const HostEnds& before) {
  const int64_t long_pause_ns = long_pause_of(rows);
  HostEnds ends = before;
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    ends.add(rows[i].end_ns, rows[i].work);
    if (rows[i].on_host) waits.add(wait_within(rows[i], ends, long_pause_ns));
    if (rows[i + 1].launch_ns == rows[i].launch_ns) continue;
    if (begins_behind(rows[i + 1], ends)) {
      waits.add({rows[i].returned_ns, ends.all_ns, ends.line_ns, -1});
    } else if (!rows[i].on_host) {
      waits.add(wait_behind(rows[i], ends, rows[i + 1].launch_ns, long_pause_ns));
    }
  }
  return waits.take();
}

// Another thread waits for the end of a call of the host during which the host launches.
void return_from_overlapped_calls(std::vector<LaunchedRow>& rows) {
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    if (rows[i].on_host && rows[i + 1].launch_ns < rows[i].end_ns) rows[i].returned_ns = rows[i].launch_ns;
  }
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
  for (const int32_t c : calls_beside_gpu(trace)) {
    const CollectiveCall& call = trace.calls[static_cast<size_t>(c)];
    rows.push_back({call.start.ns, call.end().ns, call.end().ns, GpuWork::communication, true});
  }
  sort_runs(rows, [](const LaunchedRow& a, const LaunchedRow& b) { return a.launch_ns < b.launch_ns; });
  return_from_overlapped_calls(rows);
  return rows;
}

int64_t launched_ns(const CollectiveCall& call) {
  if (call.gpu_row < 0) return call.start.ns;
  return call.launched ? call.launch_start.ns + call.launch_duration_ns : INT64_MIN;
}

int64_t long_pause_among(std::vector<int64_t> pauses_ns) {
  std::erase(pauses_ns, 0);
  if (pauses_ns.empty()) return kLongPauseNs;
  return std::max(kLongPauseNs, kLongPauses * take_middle(pauses_ns));
}

Column<HostWait> host_waits(const std::vector<LaunchedRow>& rows, const Column<SynchronizingCall>& synchronizing,
                            const std::vector<CallEnd>& ends, const HostEnds& before) {
  WaitList waits(rows.empty() ? 0 : rows.front().launch_ns, ends);
  if (has_synchronizing(rows, synchronizing)) return synchronizing_waits(rows, synchronizing, std::move(waits), before);
  return waits_in_pauses(rows, std::move(waits), before);
}

}  // namespace skewscope::blame
