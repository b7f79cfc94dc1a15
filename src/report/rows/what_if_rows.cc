#include "what_if_rows.h"

#include <set>

#include "operation_rows.h"

namespace skewscope::report {

JobReport::WhatIf what_if_rows(const Rooms& rooms, const IslandBlame& blame, int64_t steps) {
  JobReport::WhatIf out;
  out.recorded_ns = blame.replay.recorded_ns;
  out.replayed_ns = blame.replay.replayed_ns;
  out.balanced_ns = blame.replay.balanced_ns;
  out.no_transfer_ns = blame.replay.no_transfer_ns;
  out.even_experts_ns = blame.replay.even_experts_ns;
  out.saved_at_least = blame.replay.saved_at_least;
  out.steps = steps;
  for (const Rank rank : blame.together.ranks) out.together.push_back(rank.value);
  out.together_saved_ns = blame.together.saved_ns;
  for (const ProgramGroup& group : blame.programs) {
    std::set<int32_t> ranks;
    for (const TraceIndex trace : group.traces) ranks.insert(rooms.job[trace].rank.value);
    const bool at_least = group.saved_at_least || (group.saved_ns > 0 && blame.replay.saved_at_least);
    out.programs.push_back({{ranks.begin(), ranks.end()}, group.work_ns, group.saved_ns, at_least});
  }
  out.operations = operation_rows(blame, rooms.decomposition.group_kinds, rooms.job.modules);
  return out;
}

}  // namespace skewscope::report
