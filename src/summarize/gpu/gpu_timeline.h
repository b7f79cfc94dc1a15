// The GPU timeline of some rows of a trace.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "skewscope/model/rank_summary.h"

namespace skewscope::summarize {

constexpr size_t kWorks = 4;  // kinds of GpuWork

// Sets of kinds are bit masks.
constexpr size_t set_of(GpuWork work) { return size_t{1} << static_cast<unsigned>(work); }

struct TimeBySet {
  std::array<int64_t, size_t{1} << kWorks> ns{};  // by what ran at the same time; [0]: idle
  int64_t micro_idle_ns = 0;                      // of the idle time, in gaps shorter than kMicroIdleNs
};

// A gap in which no row of any stream ran, and who is to blame.
struct IdleGap {
  enum class Cause : uint8_t { host_wait, kernel_wait, other };
  LocalNs begin, end;
  Cause cause = Cause::other;
};
// Of all rows and the host's calls next to them, by time.
std::vector<IdleGap> idle_gaps(const RankTrace& trace);

// All rows and the host's calls next to them, from the first start to the last end.
TimeBySet time_by_set(const RankTrace& trace);
RankSummary timeline_of(const RankTrace& trace);
// `rows`: ascending, hence sorted by start, of one device. Calls of the host do not count: which device they are for
// nobody knows.
RankSummary timeline_of(const RankTrace& trace, const std::vector<int32_t>& rows);
// What runs from `begin` to `end`, of `rows` and of the calls `host_calls`: ascending; what they run outside does not
// count.
RankSummary timeline_between(const RankTrace& trace, const std::vector<int32_t>& rows,
                             const std::vector<int32_t>& host_calls, LocalNs begin, LocalNs end);

}  // namespace skewscope::summarize
