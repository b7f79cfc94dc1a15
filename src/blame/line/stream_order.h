// Streams that wait for other streams, where the trace tells: by them, which rows of a GPU wait for which others.
//
// Problem: streams run side by side, and order and time alone do not tell whether a kernel that begins behind a
// call waited for it. Idea: what is launched to a stream waits for all that was launched to it before, and from a
// "Stream Wait Event" on for what another stream had been given when the event was recorded there, and so on. So from
// a row back to a launch, one pass over the waits between the two launches, the latest first, tells how far back each
// stream has to be through. Why right: a wait that counts is behind its event's record, and that is behind the launch.
// It stays open where the rows do not tell: a wait whose event is not known (CUDA 12.9 and later, until Kineto asks for
// their records) may be for anything; tracers leave waits out on streams that ran nothing, older ones until they did.
// Streams that wait for the default stream by themselves are not thought of: PyTorch and NCCL make none.
// Cost: of one question, the waits between two launches, at most 1,024, times the streams that they lead to, at
// most 32.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "skewscope/model/rank_trace.h"

namespace skewscope::blame {

class StreamOrder {
 public:
  explicit StreamOrder(const RankTrace& trace);

  // Whether the trace tells any waits.
  bool recorded() const { return !waits_.empty(); }

  enum class Tie : uint8_t { none, open, waits };
  // Whether what was launched at `launch_ns` to `stream` waits for what was launched before it at `earlier_ns` to
  // `other`. Only where waits are recorded.
  Tie tie(int32_t stream, int64_t launch_ns, int32_t other, int64_t earlier_ns);

 private:
  struct Reach {
    int32_t stream;
    int64_t until_ns;  // all that was launched to it by then
  };
  // Adds it; true: waits on it before that may not be recorded.
  bool reach(int32_t stream, int64_t until_ns, int64_t earlier_ns);
  int64_t reached(int32_t stream) const;

  const Column<StreamWait>& waits_;
  std::vector<std::pair<int32_t, int64_t>> first_launches_;  // by stream
  std::vector<Reach> reached_;
};

}  // namespace skewscope::blame
