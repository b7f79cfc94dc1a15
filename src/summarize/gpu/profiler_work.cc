// Problem: torch.profiler waits for the GPU when it stops, so that the last kernels are in the trace. In the trace that
// is a cudaDeviceSynchronize like any other, often the longest of all, and no call of the program.
//
// Idea: it is the last thing that happens. A call that waits for the whole device is the profiler's where nothing is
// launched and no operator begins after it did, and where no operator, no annotation and no step is around it.
//
// Why it is right: the profiler leaves the last step before it stops, and stops before anything else is recorded. A
// program that waits for its device as the very last thing that is recorded, outside of everything, looks alike where
// the profiler's own wait was not recorded; nobody waits for what the GPU does after that either.
//
// Cost: one pass over the host's rows.
#include "profiler_work.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace skewscope::summarize {

ProfilerBuffers::ProfilerBuffers(const HostEvents& host, const StringTable& strings) {
  for (size_t i = 0; i < host.size(); ++i) {
    if (host.kind[i] != HostKind::overhead || host.duration_ns[i] == 0) continue;
    if (strings.view(host.name[i]).find("Buffer") == std::string_view::npos) continue;
    times_.emplace_back(host.start[i], host.end(i));
  }
  std::sort(times_.begin(), times_.end());
  size_t kept = 0;
  for (const auto& time : times_) {
    if (kept > 0 && time.first <= times_[kept - 1].second) {
      times_[kept - 1].second = std::max(times_[kept - 1].second, time.second);
    } else {
      times_[kept++] = time;
    }
  }
  times_.resize(kept);
}

int64_t ProfilerBuffers::covered_ns(LocalNs from, LocalNs to) const {
  int64_t ns = 0;
  for (const auto& [start, end] : times_) ns += std::max<int64_t>(0, std::min(end, to) - std::max(start, from));
  return ns;
}

int32_t final_flush(const RankTrace& trace, const HostEvents& host, const StringTable& strings) {
  constexpr std::array<std::string_view, 2> kNames = {"cudaDeviceSynchronize", "hipDeviceSynchronize"};
  const auto is_wait = [&](size_t row) {
    return host.kind[row] == HostKind::call &&
           std::find(kNames.begin(), kNames.end(), strings.view(host.name[row])) != kNames.end();
  };
  int32_t last = -1;
  for (size_t row = 0; row < host.size(); ++row) {
    if (host.kind[row] != HostKind::call) continue;
    const bool later = last < 0 || host.start[row] >= host.start[static_cast<size_t>(last)];
    if (later && is_wait(row)) last = static_cast<int32_t>(row);
  }
  if (last < 0) return -1;
  const auto flush = static_cast<size_t>(last);
  const LocalNs start = host.start[flush];
  for (const LocalNs launched : trace.launches.start) {
    if (launched > start) return -1;
  }
  for (const StepRange& step : trace.steps) {
    if (start < step.start + step.duration_ns) return -1;
  }
  for (size_t row = 0; row < host.size(); ++row) {
    if (host.kind[row] != HostKind::op && host.kind[row] != HostKind::annotation) continue;
    const bool begins_later = host.kind[row] == HostKind::op && host.start[row] > start;
    const bool around = host.thread[row] == host.thread[flush] && host.start[row] <= start && host.end(row) > start;
    if (begins_later || around) return -1;
  }
  return last;
}

}  // namespace skewscope::summarize
