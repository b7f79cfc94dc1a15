// Room: how each trace's clock maps to the job's common clock.
//   t = c - offset_ns - drift_ppb * 1e-9 * (c - reference)          (contract.md, "Definitions")
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/base/ids.h"
#include "skewscope/base/time.h"
#include "skewscope/model/job_trace.h"

namespace skewscope {

enum class ClockMethod : uint8_t {
  identity,   // ends of shared collectives agree as they are: nothing to correct
  offset,     // one constant
  line,       // offset and drift
  wallclock,  // asked for (--align wallclock), or no collective ties this trace to the others: taken as recorded
};
const char* to_string(ClockMethod method);

struct TraceClock {
  int64_t offset_ns = 0;
  double drift_ppb = 0;
  int64_t uncertainty_ns = -1;  // half width of a 95 % interval against its component's reference; -1: unknown
  ClockMethod method = ClockMethod::wallclock;
  bool aligned = false;    // tied to its component's reference by collectives
  int32_t component = -1;  // traces of different components are never compared; -1: tied to nobody
};

struct ClockModel {
  std::vector<TraceClock> clocks;   // row = TraceIndex
  int64_t reference_ns = 0;         // Unix time of the job's first event on the common clock: job.window_start_ns
  int64_t window_ns = 0;            // last event - first event, on the common clock
  double end_spread_before_ns = 0;  // median over complete N-to-N instances of (last end - first end), as recorded
  double end_spread_after_ns = 0;   // the same on the common clock

  JobNs to_job(TraceIndex trace, LocalNs c) const {
    const TraceClock& k = clocks[trace.index()];
    const double drift_ns = k.drift_ppb * 1e-9 * static_cast<double>(c.ns - reference_ns);
    return {c.ns - k.offset_ns - static_cast<int64_t>(drift_ns < 0 ? drift_ns - 0.5 : drift_ns + 0.5)};
  }
};

std::string check_invariants(const ClockModel& model, const JobTrace& job);

}  // namespace skewscope
