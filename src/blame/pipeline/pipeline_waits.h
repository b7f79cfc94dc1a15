// When the line of a rank of a pipeline stood still for other stages.
//
// A line waits for its pipeline where it is idle, a message or a collective of several stages ended meanwhile, and
// its partner had not come: from when the line stopped, or the call began, until the partner did. Calls that hold up
// the line by themselves (those of tensor parallelism) are work of the stage, and leave that time. What is behind,
// until the message was there, is its transfer. Cost: O((stops + calls) log) per rank.
#pragma once

#include <vector>

#include "src/blame/replay/replay.h"

namespace skewscope::blame {

struct TimeSpan {
  int64_t from_ns = 0, to_ns = 0;  // on the common clock
};

// Spans that do not overlap, by time, with the time that they take up to any instant.
class TimeSpans {
 public:
  TimeSpans() = default;
  explicit TimeSpans(std::vector<TimeSpan> spans);  // united where they overlap
  int64_t within(int64_t from_ns, int64_t to_ns) const;
  int64_t all() const { return before_.empty() ? 0 : before_.back(); }
  const std::vector<TimeSpan>& spans() const { return spans_; }

 private:
  int64_t until(int64_t ns) const;
  std::vector<TimeSpan> spans_;
  std::vector<int64_t> before_;  // per span, and the end
};

// Those of `of` without what lies in `without`.
TimeSpans less(const TimeSpans& of, const TimeSpans& without);

// What a call is to its pipeline.
enum class PipelineCall : uint8_t {
  none,
  message,
  of_stages,
  holds
};  // holds: of one stage, and the line waits for it

struct PipelineWaits {
  TimeSpans waits, hops;  // hops: transfer of messages
  int64_t host_ns = 0;    // the line stood still for launches, of its rows or of a call that it then joined
};

// `kind`: per instance.
PipelineWaits pipeline_waits(const ReplayPlan& plan, TraceIndex trace, const std::vector<PipelineCall>& kind);

// `stage`: per trace, its position in its pipeline; -1: in none. Instances whose time was not split are none.
std::vector<PipelineCall> pipeline_calls(const ReplayPlan& plan, const std::vector<int32_t>& stage);

}  // namespace skewscope::blame
