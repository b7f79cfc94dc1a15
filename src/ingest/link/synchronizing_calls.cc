#include "synchronizing_calls.h"

#include <algorithm>

#include "src/ingest/kineto/chunk_rows.h"

namespace skewscope::ingest {

Column<SynchronizingCall> synchronizing_calls(const FileContent& content) {
  Column<SynchronizingCall> calls;
  if (content.syncs.empty()) return calls;
  std::vector<int64_t> threads;
  for (const int64_t thread : content.launches.events.thread) {
    if (threads.empty() || threads.back() != thread) add_once(threads, thread);
  }
  for (const SyncRow& row : content.syncs) {
    const bool holds_up = !row.ends_recording && std::binary_search(threads.begin(), threads.end(), row.thread);
    if (holds_up) calls.push_back({row.start, row.duration_ns});
  }
  std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  return calls;
}

}  // namespace skewscope::ingest
