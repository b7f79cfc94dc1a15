// What the profiler itself did while it recorded: work on its buffers, and the wait for the GPU that ends a recording.
#pragma once

#include <utility>
#include <vector>

#include "skewscope/base/string_table.h"
#include "skewscope/model/rank_detail.h"

namespace skewscope::summarize {

// When the profiler refilled its buffers: Kineto's "Activity Buffer Request" and "Activity Buffer Flush".
class ProfilerBuffers {
 public:
  ProfilerBuffers(const HostEvents& host, const StringTable& strings);

  bool empty() const { return times_.empty(); }
  // What of [from, to) it took.
  int64_t covered_ns(LocalNs from, LocalNs to) const;
  const std::vector<std::pair<LocalNs, LocalNs>>& times() const { return times_; }

 private:
  std::vector<std::pair<LocalNs, LocalNs>> times_;  // disjoint, by start
};

// The call that waits for the whole device when torch.profiler ends its recording: row of HostEvents; -1: there is
// none. It is no call of the program.
int32_t final_flush(const RankTrace& trace, const HostEvents& host, const StringTable& strings);

}  // namespace skewscope::summarize
