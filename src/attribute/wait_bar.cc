#include "wait_bar.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "collectives/open_end.h"
#include "collectives/synchronization.h"

namespace skewscope::attribute {
namespace {

constexpr int64_t kMuchSmaller = 2;  // waits are defined by clocks: durations must be twice as good

// The tie of the instance's class; null: none. Those of batches are of two ranks each.
const TieBar* tie_of(const ClockModel& clocks, const CollectiveInstance& i) {
  if (i.kind == CollectiveKind::coalesced) return nullptr;
  const auto key = std::tie(i.session, i.communicator, i.kind, i.bytes);
  const auto at = std::lower_bound(clocks.ties.begin(), clocks.ties.end(), key, [](const TieBar& t, const auto& k) {
    return std::tie(t.session, t.communicator, t.kind, t.bytes) < k;
  });
  if (at == clocks.ties.end() || std::tie(at->session, at->communicator, at->kind, at->bytes) != key) return nullptr;
  return &*at;
}

// Three deviations, and stamps in whole microseconds at either end.
int64_t slack_ns(const WaitBar& bar) { return std::max<int64_t>(0, bar.clock_ns) * 3 / 2 + 2'000; }

}  // namespace

SplitBasis WaitBar::basis() const {
  return durations_ns >= 0 && (clock_ns < 0 || kMuchSmaller * durations_ns < clock_ns) ? SplitBasis::durations
                                                                                       : SplitBasis::clocks;
}

int64_t WaitBar::ns() const { return basis() == SplitBasis::durations ? durations_ns : clock_ns; }

WaitBar wait_bar(const ClockModel& clocks, const CollectiveInstance& instance, int64_t member_bar_ns) {
  WaitBar bar;
  const TieBar* const tie = tie_of(clocks, instance);
  bar.clock_ns = tie != nullptr && tie->bar_ns >= 0 ? tie->bar_ns : member_bar_ns;
  const bool free = instance.complete && dependency_of(instance.kind) == Dependency::everyone;
  if (free && tie != nullptr) bar.durations_ns = tie->end_difference_ns;
  return bar;
}

WaitBar wait_bar_of_durations(const CollectiveInstance& instance) {
  constexpr int64_t kCutOff_ns = 1'000;  // durations are recorded in whole microseconds
  WaitBar bar;
  if (dependency_of(instance.kind) == Dependency::everyone) bar.durations_ns = kCutOff_ns;
  return bar;
}

bool breaks_causality(const WaitBar& bar, const std::vector<Arrival>& arrivals) {
  int64_t last_start = INT64_MIN, first_end = INT64_MAX;
  for (const Arrival& a : arrivals) {
    last_start = std::max(last_start, a.start_ns);
    if (!lacks_end(a.duration_ns)) first_end = std::min(first_end, a.end_ns());
  }
  return first_end < INT64_MAX && last_start - first_end > slack_ns(bar);
}

bool breaks_causality(const WaitBar& bar, const std::vector<Arrival>& arrivals, const std::vector<Awaited>& awaited) {
  return std::any_of(awaited.begin(), awaited.end(), [&](const Awaited& a) {
    const Arrival& waiter = arrivals[a.waiter];
    return !lacks_end(waiter.duration_ns) && arrivals[a.partner].start_ns - waiter.end_ns() > slack_ns(bar);
  });
}

std::vector<Arrival> arrivals_by_duration(std::vector<Arrival> arrivals) {
  int64_t end = INT64_MIN;
  for (const Arrival& a : arrivals) end = std::max(end, a.end_ns());
  for (Arrival& a : arrivals) a.start_ns = end - a.duration_ns;
  return arrivals;
}

bool contradicts(const WaitBar& bar, const std::vector<Arrival>& arrivals) {
  if (bar.clock_ns < 0 || bar.durations_ns < 0 || arrivals.empty()) return false;
  int64_t last_start = INT64_MIN, shortest = INT64_MAX;
  std::vector<int64_t> ends;
  for (const Arrival& a : arrivals) {
    last_start = std::max(last_start, a.start_ns);
    shortest = std::min(shortest, a.duration_ns);
    ends.push_back(a.end_ns());
  }
  std::sort(ends.begin(), ends.end());
  const int64_t middle = std::midpoint(ends[ends.size() / 2], ends[(ends.size() - 1) / 2]);
  const double limit = 1.5 * std::hypot(static_cast<double>(bar.clock_ns), static_cast<double>(bar.durations_ns));
  return static_cast<double>(std::llabs(middle - last_start - shortest)) > limit;
}

}  // namespace skewscope::attribute
