// Exposed communication of one GPU, divided: what computing had to wait for, and what merely coincided.
//
// Problem: while a GPU communicates and computes nothing, the communication need not be what it waits for: a call that
// nobody needs yet may run while the host is late. Only what blocks is won where the call is hidden or quicker.
// Idea: the GPU is idle until its next row of work begins (a kernel, a fill or a copy). That row was ready from
// when its launch had arrived. Where several calls ended while the GPU stood still, it waited for the last one if it
// was launched before that call ended and began behind it: on the same stream, or as soon as an event takes. What the
// call itself waited for is found the same way, back to where the GPU went idle. Where the row was launched only after
// the call had ended, the host may have waited for the call: it did where it paused until all that it had launched was
// done (host_line.h) and launched soon after.
// A row waits for what the waits of its stream tie it to, where the trace tells these (stream_order.h): however long
// behind that it begins. A call that ended meanwhile without such a tie is passed over. What began before the first row
// that was launched in the recording had been launched before. So every nanosecond of exposed communication is one of
// these:
//   blocking    a call runs that the next row, or the host that launches it, waited for
//   coincided   the next row had not been launched, and its host did not wait for a call; or it began while the calls
//               still ran; or the GPU was copying; or the streams' waits say that the row does not wait for the call
//   unknown     the launch of the next row is lost; it began long after the call that ended last, and no waits tell;
//               its host paused, and nobody can tell for what; no row follows
// Why right: a call of blocking time is one without which the row would have begun by that time earlier, if launches
// came as they did. Order and time are read, which every trace has; waits on streams only where the tracer was asked
// for them. Cost: one pass over the rows.
#pragma once

#include <span>
#include <vector>

#include "rank_line.h"
#include "skewscope/model/blame.h"

namespace skewscope::blame {

// The GPU stood still for a call; on the rank's own clock. Spans of one trace do not overlap.
struct BlockedSpan {
  int64_t from_ns, until_ns;
  int32_t gpu_row;  // of the call
};

struct ExposedTime {
  ExposedSplit sums;  // to RankSummary::exposed_communication_ns
  std::vector<BlockedSpan> blocked;
};

// `latency_ns`, `begin`: as in RankLine.
ExposedTime exposed_time(const RankTrace& trace, int64_t latency_ns, LocalNs begin);

// Rows of Decomposition::trace_steps by trace, in order of time.
class StepsOfTraces {
 public:
  StepsOfTraces(const Decomposition& d, size_t traces);
  std::span<const uint32_t> of(TraceIndex trace) const {
    return {rows_.data() + first_[trace.index()], rows_.data() + first_[trace.index() + 1]};
  }

 private:
  std::vector<uint32_t> rows_;
  std::vector<size_t> first_;  // row of `rows_`, by trace
};

// What of the spans is in each of these steps of the trace is added to its row of `parts`.
void add_to_steps(const JobView& view, TraceIndex trace, const std::vector<BlockedSpan>& blocked,
                  std::span<const uint32_t> steps, std::vector<BlockedParts>& parts);

}  // namespace skewscope::blame
