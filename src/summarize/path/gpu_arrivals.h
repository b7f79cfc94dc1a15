// What a GPU row, and a call that waits for the GPU, may have waited for.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/summarize/operators/operator_view.h"

namespace skewscope::summarize {

// Rows of GpuEvents; -1: none.
class GpuArrivals {
 public:
  explicit GpuArrivals(const OperatorView& view);

  LocalNs end(int32_t row) const;
  // The row that ended last of those that began before it on its stream.
  int32_t before(int32_t row) const { return before_[static_cast<size_t>(row)]; }
  // The row of another stream that it waited for, where its stream had to wait before it was launched and such a
  // row ended after `bound`, before it began.
  int32_t awaited_by_row(int32_t row, LocalNs bound) const;
  // The row of another stream of its device, launched before it, that ended last after `bound` and before it began:
  // nothing recorded says that it was waited for.
  int32_t ran_meanwhile(int32_t row, LocalNs bound) const;
  // The row that ended last while the call waited for it, at `until` or before.
  int32_t awaited_by_call(int32_t host_row, LocalNs until) const;

 private:
  struct Asked {
    LocalNs after, until;     // when it ended
    LocalNs launched_by;      // launched then, or before
    int32_t not_beside = -1;  // a row whose stream does not count
  };
  int32_t last_ended(const Asked& asked) const;
  bool same_stream(int32_t a, int32_t b) const;
  // Start of the last call, between this one and the launch before it on its thread, that made a stream wait.
  bool told_to_wait(int32_t caller, LocalNs& when) const;

  const OperatorView& view_;
  std::vector<int32_t> before_;
  std::vector<int32_t> by_end_;
  std::vector<bool> launches_;                       // per row of HostEvents
  std::vector<std::pair<int32_t, int32_t>> copies_;  // by the call that launched them, then by end
  StringId stream_waits_[3];
};

}  // namespace skewscope::summarize
