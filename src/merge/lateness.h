// Problem: show on a timeline who kept whom waiting. Idea: a waiting member is released when the one it waits for
// arrives, at start + wait of its own; the member that starts at that time is the one. Where the split rests on
// durations, no start need be there, and the last arrival is taken. From that member's `Late` slice, which ends when it
// arrives, an arrow goes to the transfer slice of each member it released, which begins there.
#pragma once

#include <vector>

#include "rows.h"

namespace skewscope::merge {

// The instance that one call is of.
struct Membership {
  int32_t instance = -1;  // -1: unmatched
  int32_t member = -1;    // row in InstanceTable::members
};

struct Late {
  int32_t instance = -1;
  JobNs from, until;              // from the first arrival of those that it released to its own
  int32_t member = -1;            // its own row in InstanceTable::members
  std::vector<int32_t> released;  // rows in InstanceTable::members
};

struct Lateness {
  std::vector<std::vector<Membership>> calls;  // by TraceIndex, call
  std::vector<JobNs> first_arrival;            // by InstanceId
  std::vector<std::vector<Late>> late;         // by TraceIndex; sorted by `from`
  std::vector<int32_t> released_by;            // by row of InstanceTable::members: such a row; -1: it did not wait
};

Lateness find_lateness(const CorrelatedJob& rooms);

// Says what of the time around a finding is kept.
MergeWindow with_margin(MergeWindow window);

// Windows around the instances with the longest waits of one selected call, at most `count`; an instance within one
// that is there already needs none of its own. Each spans the instance's calls, and half their time, at least 1 ms, on
// each side.
std::vector<MergeWindow> worst_waits(const CorrelatedJob& rooms, const Selection& selection, const Lateness& lateness,
                                     int32_t count);

}  // namespace skewscope::merge
