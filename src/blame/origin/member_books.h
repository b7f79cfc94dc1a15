// Per member of each collective: what its GPU did since all members last left a collective together.
//
// Whoever leaves one collective together and arrives at the next one at different times did something different in
// between: the labels of these spans, one per member, sum to their lengths exactly, and differences of the lengths are
// the lateness up to the scatter of the ends. The earlier collective is the latest one that holds all members, which
// they left together, and which had ended at each of them before it came here: one that needs all of them to finish,
// for which no clock is needed, or messages whose ends on the common clock lie together. And their computation must
// have stood still for it: behind one that ran during computation the members are not at the same place of their
// programs. Only where there is no such one any will do. A span has two parts. Up to the call's fork (rank_line.h) it
// is the rank's own line, under the labels of its GPU. From there to the call's start the call waited for its stream,
// which is transfer or waiting of the call in front of it, and then for its launch. Cost: one sort per trace, O(log n)
// per member.
#pragma once

#include "src/blame/line/label_marks.h"
#include "src/blame/replay/replay.h"

namespace skewscope::blame {

struct MemberBooks {
  std::vector<int32_t> since;  // per instance: the earlier one; -1: none in the window
  std::vector<bool> blocking;  // per instance: its members' computation stood still for it
  // Per trace and fork: of the span of its member; where there is no earlier one, since the trace began.
  std::vector<Column<LabelTimes>> times;
  // Per row of InstanceTable::members: the one with the middle length at the same place of the same program; -1: there
  // is none.
  std::vector<int32_t> usual;
};

// Sum of the labels.
int64_t length_of(const LabelTimes& times);

// `marks`: per trace, of those held here. Process 0 gets the books but for `usual`; the others what they need to fill
// in the times of their traces. Asks for no places.
MemberBooks member_books(const ReplayPlan& plan, std::vector<LabelMarks> marks, Exchange& exchange);
// When the places are known.
void find_usual(const ReplayPlan& plan, MemberBooks& books);

// `row`: of InstanceTable::members.
const LabelTimes& times_of(const ReplayPlan& plan, const MemberBooks& books, size_t row);

// The span of a member between the earlier collective and this one, on its own clock.
struct Span {
  LocalNs from, fork, to;
};
Span span_of(const ReplayPlan& plan, const MemberBooks& books, size_t row);

}  // namespace skewscope::blame
