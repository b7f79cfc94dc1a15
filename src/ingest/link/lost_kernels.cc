// Problem: a profiler that runs out of buffers drops rows of the GPU; the rank seems idle, its collectives incomplete,
// and nobody learns it. Idea: the host's launches are in the trace, and each has a correlation that a row carries.
// A launch without a row is no loss where its kernel ran behind the end of recording, or never: in a graph that was
// being captured. The first is ruled out in either of two ways: on every stream that has rows, one was launched later;
// or as much time as any kernel took from its launch to its end had passed before recording ended.
// Why right: a stream runs its kernels in the order of their launches, so one that ran behind the end of recording is
// followed by no row; and what is launched early is not through later than all others. Kernels without a correlation
// may be those of any launch, and count against the loss. Of 132 real traces none has a launch without its row.
// Cost: linear in launches and rows; O(log streams) per row and O(log ranges) per lost kernel where any has no row.
#include "lost_kernels.h"

#include <algorithm>
#include <map>
#include <utility>

#include "join_by_order.h"
#include "skewscope/model/lost_kernels.h"

namespace skewscope::ingest {
namespace {

int64_t end_of_recording(const FileContent& content) {
  int64_t end_ns = INT64_MIN;
  const auto see = [&](LocalNs start, int64_t duration_ns) { end_ns = std::max(end_ns, (start + duration_ns).ns); };
  const GpuEvents& gpu = content.gpu.events;
  for (size_t i = 0; i < gpu.size(); ++i) see(gpu.start[i], gpu.duration_ns[i]);
  const LaunchEvents& launches = content.launches.events;
  for (size_t i = 0; i < launches.size(); ++i) see(launches.start[i], launches.duration_ns[i]);
  for (const CommOpRow& op : content.comm_ops) see(op.start, op.duration_ns);
  for (const StepRow& step : content.steps) see(step.start, step.duration_ns);
  for (const SyncRow& sync : content.syncs) see(sync.start, sync.duration_ns);
  return end_ns;
}

// A launch before this time had its kernel end before recording did.
LocalNs through_before(const FileContent& content) {
  const GpuEvents& gpu = content.gpu.events;
  const Column<LocalNs>& launched = content.launches.events.start;
  int64_t longest_ns = 0;
  std::map<std::pair<int32_t, int32_t>, int64_t> last_launch;  // by device and stream
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (gpu.launch[i] < 0) continue;
    const LocalNs launch = launched[static_cast<size_t>(gpu.launch[i])];
    longest_ns = std::max(longest_ns, gpu.start[i] + gpu.duration_ns[i] - launch);
    int64_t& last = last_launch.try_emplace({gpu.device[i], gpu.stream[i]}, launch.ns).first->second;
    last = std::max(last, launch.ns);
  }
  int64_t followed_ns = INT64_MAX;
  for (const auto& [stream, last] : last_launch) followed_ns = std::min(followed_ns, last);
  if (last_launch.empty()) return {INT64_MIN};
  return {std::max(followed_ns, end_of_recording(content) - longest_ns)};
}

// Begin and end of each time in which a graph was captured.
std::vector<std::pair<LocalNs, LocalNs>> captures_of(const FileContent& content) {
  std::vector<std::pair<LocalNs, bool>> marks;
  for (size_t i = 0; i < content.launches.size(); ++i) {
    const LaunchRole role = content.launches.role[i];
    if (role == LaunchRole::begins_capture || role == LaunchRole::ends_capture) {
      marks.emplace_back(content.launches.events.start[i], role == LaunchRole::begins_capture);
    }
  }
  std::sort(marks.begin(), marks.end());
  std::vector<std::pair<LocalNs, LocalNs>> captures;
  if (!marks.empty() && !marks.front().second) captures.emplace_back(LocalNs{INT64_MIN}, LocalNs{INT64_MAX});
  int64_t open = captures.empty() ? 0 : 1;
  for (const auto& [at, begins] : marks) {
    if (begins && open++ == 0) captures.emplace_back(at, LocalNs{INT64_MAX});
    if (!begins && open > 0 && --open == 0) captures.back().second = at;
  }
  return captures;
}

struct LostLaunches {
  std::vector<size_t> launches;  // rows
  int64_t launched = 0;          // kernels, lost or not
};

// Calls with one correlation run within each other, and one of them launches.
LostLaunches without_rows(const FileContent& content) {
  const LaunchRows& launches = content.launches;
  std::vector<bool> used(launches.size(), false);
  for (const int32_t launch : content.gpu.events.launch) {
    if (launch >= 0) used[static_cast<size_t>(launch)] = true;
  }
  LostLaunches lost;
  for (size_t begin = 0, end = 0; begin < launches.size(); begin = end) {
    bool has_row = false, kernel = false;
    for (end = begin; end < launches.size() && launches.correlation[end] == launches.correlation[begin]; ++end) {
      has_row = has_row || used[end];
      kernel = kernel || launches.role[end] == LaunchRole::kernel;
    }
    lost.launched += kernel ? 1 : 0;
    if (kernel && !has_row) lost.launches.push_back(begin);
  }
  return lost;
}

// Without launches whose kernels ran behind the end of recording, never, or are among rows without a correlation.
void leave_explained(const FileContent& content, std::vector<size_t>& launches) {
  const LocalNs before = through_before(content);
  const std::vector<std::pair<LocalNs, LocalNs>> captures = captures_of(content);
  std::erase_if(launches, [&](size_t i) {
    const LocalNs at = content.launches.events.start[i];
    return at >= before || std::any_of(captures.begin(), captures.end(), [&](const auto& capture) {
             return capture.first <= at && at <= capture.second;
           });
  });
  size_t without_correlation = 0;
  for (size_t i = 0; i < content.gpu.size(); ++i) {
    without_correlation += content.gpu.events.launch[i] < 0 && content.gpu.correlation[i] <= 0 ? 1 : 0;
  }
  launches.resize(launches.size() - std::min(launches.size(), without_correlation));
}

}  // namespace

void report_lost_kernels(FileContent& content) {
  if (content.gpu.empty() || content.kernel_launches == 0) return;
  LostLaunches lost = without_rows(content);
  if (!lost.launches.empty()) leave_explained(content, lost.launches);
  const int64_t count = std::ssize(lost.launches);
  if (count == 0) return;
  const RangeIndex<CommOpRow> ranges = collective_ranges(content);
  const LaunchEvents& launches = content.launches.events;
  int64_t collectives = 0;
  size_t near = 0;
  for (const size_t i : lost.launches) {
    collectives += ranges.innermost(launches.thread[i], launches.start[i], near, [](int32_t) { return true; }) >= 0;
  }
  const LostKernels kernels{lost.launched, count, std::ssize(content.gpu.comm_kernels), collectives};
  add_finding(content.findings, finding_of(kernels, content.file));
}

}  // namespace skewscope::ingest
