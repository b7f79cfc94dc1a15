// Calls by kind of group, operation, size, phase and module, summed over ranks.
#pragma once

#include <vector>

#include "busy_intervals.h"
#include "skewscope/model/decomposition.h"

namespace skewscope::attribute {

// The class of one member's call.
CallClass class_of(const CollectiveInstance& instance, const CollectiveCall& call, const GroupKinds& groups);
// The class of a call that is in no instance.
CallClass class_of(const CollectiveCall& call, const CommunicatorTable& communicators, const GroupKinds& groups);

struct ClassedCall {
  CallClass of;
  bool on_gpu = false;
  LocalNs start;
  CallParts parts;
};
// `calls`: all of one trace.
std::vector<ClassTotals> class_totals(std::vector<ClassedCall> calls, const BusyIntervals& busy);

// One row per class, in order.
std::vector<ClassTotals> merged(std::vector<ClassTotals> rows);
std::vector<ClassTotals> joined(const std::vector<std::vector<ClassTotals>>& of_traces);

}  // namespace skewscope::attribute
