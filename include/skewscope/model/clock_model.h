// Data: how each trace's clock maps to the job's common clock.
//   t = c - offset_ns - drift_ppb * 1e-9 * (c - reference) - bend(c)
// The line is that of DEFINITIONS.md, section 2; the bend is 0 except under ClockMethod::bent.
#pragma once

#include <algorithm>
#include <cmath>
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
  bent,       // offset, drift and a bend: clocks that are steered during the window
  wallclock,  // asked for (--align wallclock), or no collective ties this trace to the others: taken as recorded
  durations,  // no clock is known (RankTrace::durations_only)
};
const char* to_string(ClockMethod method);

// What a clock deviates from its line, against its component's reference: linear between knots `step_ns` apart on the
// clock itself. height_ns[k] is the value at first + (k + 1) * step_ns; 0 at first, and at and beyond the last knot
// + 1.
struct ClockBend {
  LocalNs first;
  int64_t step_ns = 0;
  std::vector<double> height_ns;

  double at(LocalNs c) const {
    if (height_ns.empty()) return 0;
    const double x = static_cast<double>(c - first) / static_cast<double>(step_ns);
    if (x <= 0 || x >= static_cast<double>(height_ns.size() + 1)) return 0;
    const auto k = static_cast<size_t>(x);
    const double left = k == 0 ? 0 : height_ns[k - 1], right = k == height_ns.size() ? 0 : height_ns[k];
    return left + (right - left) * (x - static_cast<double>(k));
  }
  int64_t largest_ns() const {
    double most = 0;
    for (const double h : height_ns) most = std::max(most, h < 0 ? -h : h);
    return std::llround(most);
  }
};

struct TraceClock {
  int64_t offset_ns = 0;
  double drift_ppb = 0;
  int64_t uncertainty_ns = -1;  // half width of a 95 % interval against its component's reference; -1: unknown
  ClockMethod method = ClockMethod::wallclock;
  bool aligned = false;    // joined to its component's reference by collectives
  int32_t component = -1;  // traces of different components are never compared; -1: joined to nobody
  ClockBend bend;          // under ClockMethod::bent
  // Where shared ends tie a clock that drifts or bends, with 5 % of half the window beyond: outside, its stamps are
  // extrapolated.
  LocalNs tied_from{INT64_MIN}, tied_to{INT64_MAX};
  // What cause and effect alone prove: the error of the common time against the component's reference lies in here, the
  // reference's own clock taken as exact. The widest span where nothing is proven.
  int64_t proven_low_ns = INT64_MIN, proven_high_ns = INT64_MAX;

  // The clock is certainly right to this; -1: nothing is proven.
  int64_t proven_ns() const {
    if (proven_low_ns == INT64_MIN || proven_high_ns == INT64_MAX) return -1;
    return std::max(proven_high_ns < 0 ? -proven_high_ns : proven_high_ns,
                    proven_low_ns < 0 ? -proven_low_ns : proven_low_ns);
  }
};

// How well the members of one communicator can be compared, per operation and size.
struct TieBar {
  SessionId session;
  CommunicatorId communicator;
  CollectiveKind kind = CollectiveKind::unknown;
  int64_t bytes = 0;
  int64_t bar_ns = -1;  // half width of a 95 % interval of the difference of two members' clocks; -1: unknown
  int64_t end_difference_ns = -1;  // what 95 % of the differences of two members' ends stay below; -1: unknown

  friend auto operator<=>(const TieBar&, const TieBar&) = default;
};

struct ClockModel {
  std::vector<TraceClock> clocks;   // row = TraceIndex
  std::vector<TieBar> ties;         // sorted
  Findings findings;                // what cause and effect say against the fit or the matching
  int64_t reference_ns = 0;         // Unix time of the job's first event on the common clock: job.window_start_ns
  int64_t window_ns = 0;            // last event - first event, on the common clock
  double end_spread_before_ns = 0;  // median over complete N-to-N instances of (last end - first end), as recorded
  double end_spread_after_ns = 0;   // the same on the common clock

  JobNs to_job(TraceIndex trace, LocalNs c) const {
    const TraceClock& k = clocks[trace.index()];
    const double drift_ns = k.drift_ppb * 1e-9 * static_cast<double>(c.ns - reference_ns) + k.bend.at(c);
    return {c.ns - k.offset_ns - static_cast<int64_t>(drift_ns < 0 ? drift_ns - 0.5 : drift_ns + 0.5)};
  }
};

std::string check_invariants(const ClockModel& model, const JobTrace& job);

}  // namespace skewscope
