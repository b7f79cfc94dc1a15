// Time is int64 nanoseconds since the Unix epoch. A stamp of one rank's clock (LocalNs) and a stamp of the job's common
// clock (JobNs) are different types: only a ClockModel turns one into the other. Durations are plain int64_t named
// `_ns`.
#pragma once

#include <compare>
#include <cstdint>

namespace skewscope {

template <class Clock>
struct Timestamp {
  int64_t ns = 0;

  friend constexpr auto operator<=>(Timestamp, Timestamp) = default;
  friend constexpr int64_t operator-(Timestamp a, Timestamp b) { return a.ns - b.ns; }
  friend constexpr Timestamp operator+(Timestamp a, int64_t duration_ns) { return {a.ns + duration_ns}; }
  friend constexpr Timestamp operator-(Timestamp a, int64_t duration_ns) { return {a.ns - duration_ns}; }
};

// Read from one process's trace.
using LocalNs = Timestamp<struct LocalClock>;
// On the clock that all ranks of the job share after alignment.
using JobNs = Timestamp<struct JobClock>;

// No start and no duration of a trace is further from 0, that is from the year 1970: 2067. The end of one event and the
// start of another are then within 64 bits of each other.
constexpr int64_t kFurthestNs = 3'070'000'000'000'000'000;

}  // namespace skewscope
