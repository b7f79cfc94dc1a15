// What a late rank computed longer than a peer over all that was recorded, in addition to what it was late by.
//
// Problem: where communication runs during computation, two ranks are not at the same place of their programs when a
// collective ends: a slower rank has run other kernels since then, and so has one whose host stalled. Idea: over all
// steps ranks of one program run the same kernels, so kernels that one ran more often there are other kernels; what its
// kernels took longer beyond that is slower kernels. Computing in its lateness beyond both was only moved there by what
// really held it up: it is divided between the two as they are. Lateness is held against that group by group: what
// makes a rank late in one group makes it late in the next, too, and is counted in both. Asked only where other kernels
// seem to have been run. Cost: one look at the rows of both.
#pragma once

#include <map>
#include <vector>

#include "skewscope/base/exchange.h"
#include "skewscope/model/blame.h"
#include "src/blame/replay/replay.h"

namespace skewscope::blame {

// What is summed of a late trace.
struct Comparison {
  std::map<TraceIndex, int64_t> peers;          // those it was compared with: by how much it was late there
  std::map<CommunicatorId, int64_t> computing;  // in lateness, by group
};
using Comparisons = std::map<TraceIndex, Comparison>;

// Divides what the books of lateness call slower: kernels of equal name, run as often, that were launched on other
// grids are other shapes. Over all that was recorded, as the traces sum it up (KernelGrid): no look at rows.
void tell_shapes(const ReplayPlan& plan, const Comparisons& compared, Blame& blame);

// Corrects both books of these traces; computing is all slower in origin_by_cause, before it is divided and after.
// `compared`: of process 0.
void correct_computing(const ReplayPlan& plan, const Comparisons& compared, Exchange& exchange, Blame& blame);

}  // namespace skewscope::blame
