// How much of communication is hidden, by kind of group, operation, size and phase, and by module.
#pragma once

#include <string>
#include <vector>

#include "rooms.h"

namespace skewscope::report {

std::vector<JobReport::OverlapRow> overlap_rows(const Decomposition& decomposition);
// `modules`: of the job.
std::vector<JobReport::OverlapRow> overlap_module_rows(const Decomposition& decomposition,
                                                       const std::vector<std::string>& modules);

}  // namespace skewscope::report
