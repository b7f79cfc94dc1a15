// Which traces are on one clock, and how long a job is whose traces are not: lengths never reach from one component to
// another, whose clocks nobody compared.
#pragma once

#include <map>
#include <vector>

#include "skewscope/model/clock_model.h"

namespace skewscope {

struct ClockComponent {
  SessionId session;
  std::vector<TraceIndex> traces;  // ascending; alone where nothing aligns it
  int64_t window_ns = 0;           // from its first event to its last
};

// By session; within one the largest first, of equally large ones the longest.
std::vector<ClockComponent> components_of(const JobTrace& job, const ClockModel& clocks);

// How many components the session has that has most.
int32_t most_components(const JobTrace& job, const ClockModel& clocks);

// Traces whose ranks some session compares, directly or through others: reported as a job of their own. In a job of one
// session, a component.
struct ClockIsland {
  std::vector<TraceIndex> traces;  // ascending
  int64_t window_ns = 0;           // sessions one after the other, of each the longest component
};

// The longest first; a trace that nothing aligns comes behind those that are compared.
std::vector<ClockIsland> islands_of(const JobTrace& job, const ClockModel& clocks);

// Per trace: whether it is of its session's longest component; one of several traces, where there is any.
std::vector<bool> in_longest_component(const JobTrace& job, const ClockModel& clocks);

// The number of its component; a trace that nothing aligns has a number that no other has.
inline int32_t component_number(const TraceClock& clock, size_t trace) {
  return clock.component >= 0 ? clock.component : -2 - static_cast<int32_t>(trace);
}

// First and last moments, added one by one.
class ComponentSpans {
 public:
  void add(SessionId session, int32_t component, int64_t first_ns, int64_t last_ns);

  // Sessions one after the other, each as long as its longest component.
  int64_t sum_ns() const;
  // From the first moment to the last; where some session has several components, the longest of all.
  int64_t window_ns() const;

 private:
  struct Span {
    int64_t first_ns, last_ns;
  };
  std::map<SessionId, std::map<int32_t, Span>> spans_;
};

}  // namespace skewscope
