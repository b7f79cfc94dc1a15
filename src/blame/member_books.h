// Per member of each collective: what its GPU did since all members last left a collective together.
//
// Whoever leaves one collective together and arrives at the next one at different times did something different in
// between: the labels of these spans, one per member, sum to their lengths exactly, and differences of the lengths are
// the lateness up to the scatter of the ends. No clock is needed. The earlier collective is the latest one that holds
// all members, needs all of them to finish, and had ended at each of them before it came here. Cost: one sort per
// trace, O(log n) per member.
#pragma once

#include "gpu_labels.h"
#include "job_view.h"

namespace skewscope::blame {

struct MemberBooks {
  std::vector<int32_t> since;     // per instance: the earlier one; -1: none in the window
  std::vector<LabelTimes> times;  // per row of InstanceTable::members; all 0 where there is none
};

MemberBooks member_books(const JobView& view);

// The span of a member between the earlier collective and this one, on its own clock.
struct Span {
  LocalNs from, to;
};
Span span_of(const JobView& view, const MemberBooks& books, size_t row);

}  // namespace skewscope::blame
