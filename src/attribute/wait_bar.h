// How wrong may the waits of one instance be, and what should they rest on?
//
// With clocks: wait_r = last arrival - start_r; its error is that of the difference of two members' clocks, which the
// clock model states per communicator. Without: wait_r = duration_r - shortest duration. For a complete N-to-N instance
//   first end - last arrival <= shortest duration <= the last one's end - last arrival,
// for every duration is (end - last arrival) + (last arrival - start); so the shortest is the transfer time up to the
// scatter of the ends, with any clocks. Clocks decide, as DEFINITIONS.md defines waits, unless durations are twice as
// good; both are kept, and each checks the other: transfer times that differ by more than three deviations are a
// contradiction. Source: src/align/METHOD.md, section 6.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/clock_model.h"
#include "skewscope/model/decomposition.h"
#include "split_call.h"

namespace skewscope::attribute {

struct WaitBar {
  int64_t clock_ns = -1;      // half width of a 95 % interval with clocks; -1: unknown
  int64_t durations_ns = -1;  // the same without
  SplitBasis basis() const;
  int64_t ns() const;  // of the basis; -1: unknown
};

// Of an instance whose members' durations are all that is recorded (ClockMethod::durations): waits rest on them, those
// of an incomplete one as lower bounds.
WaitBar wait_bar_of_durations(const CollectiveInstance& instance);

// `member_bar_ns`: the largest uncertainty of a member's clock, used where the communicator's own ties say nothing.
WaitBar wait_bar(const ClockModel& clocks, const CollectiveInstance& instance, int64_t member_bar_ns);

// Whether the transfer time with clocks (middle end - last arrival) and that without (the shortest duration) cannot
// both be right.
bool contradicts(const WaitBar& bar, const std::vector<Arrival>& arrivals);

// Whether somebody left before the last arrived, by more than three deviations: clocks or match are wrong there. Clocks
// of unknown error are taken at their word.
bool breaks_causality(const WaitBar& bar, const std::vector<Arrival>& arrivals);
// The same for messages: whether somebody left before one came for whom it has to wait.
bool breaks_causality(const WaitBar& bar, const std::vector<Arrival>& arrivals, const std::vector<Awaited>& awaited);

// The same calls placed by their durations alone: as if all had ended at one instant.
std::vector<Arrival> arrivals_by_duration(std::vector<Arrival> arrivals);

}  // namespace skewscope::attribute
