#include "synchronizing_calls.h"

#include <algorithm>
#include <set>

namespace skewscope::ingest {

Column<SynchronizingCall> synchronizing_calls(const FileContent& content) {
  Column<SynchronizingCall> calls;
  if (content.syncs.empty()) return calls;
  const Column<int64_t>& threads = content.launches.events.thread;
  std::set<int64_t> launching;
  for (size_t i = 0; i < threads.size(); ++i) {
    if (i == 0 || threads[i] != threads[i - 1]) launching.insert(threads[i]);
  }
  for (const SyncRow& row : content.syncs) {
    const bool holds_up = !row.ends_recording && launching.contains(row.thread);
    if (holds_up) calls.push_back({row.start, row.duration_ns});
  }
  std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  return calls;
}

}  // namespace skewscope::ingest
