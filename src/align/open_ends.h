// Traces whose calls lack their ends: is the clock as recorded good enough to compare them?
//
// No end aligns such a trace to the others. Where the clocks of all others agree as recorded, to microseconds and
// without a correction, and this trace names the same host as they do or none names any, its clock is taken as
// recorded, too: as long as no call of its began behind the end that a partner recorded, or ended before a partner
// came.
//
// Cost: the members of an instance times those that lack their end.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/clock_model.h"
#include "skewscope/model/collective_instance.h"

namespace skewscope::align {

struct RecordedClock {
  size_t trace = 0;
  int32_t component = -1;  // that it joins
  int64_t bar_ns = 0;      // half width of a 95 % interval
};

// The clocks of traces that are in no component yet; by trace.
std::vector<RecordedClock> recorded_clocks(const JobTrace& job, const InstanceTable& table, const ClockModel& model);

}  // namespace skewscope::align
