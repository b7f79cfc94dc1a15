// Tables with one row per call: collective_ranks and unmatched.
#pragma once

#include <vector>

#include "sources.h"

namespace skewscope::report {

// By instance, then trace.
std::vector<JobReport::CallRow> call_rows(const Sources& sources);
// By trace, then time; and the names of their kernels.
void add_unmatched_rows(const Sources& sources, JobReport& report);

// The calls of `sources.instances.unmatched` of whose group no other rank has a trace: collectives that are incomplete
// to one member. Nobody's arrival is known but its own, so they are not split.
struct SingleMembers {
  int64_t calls = 0;
  std::vector<int32_t> missing;  // ranks that these lack; sorted
};
SingleMembers single_members(const Sources& sources);

}  // namespace skewscope::report
