// Tables with one row per call: collective_ranks and unmatched.
#pragma once

#include <vector>

#include "rooms.h"

namespace skewscope::report {

// By instance, then trace.
std::vector<JobReport::CallRow> call_rows(const Rooms& rooms);
// By trace, then time; and the names of their kernels.
void add_unmatched_rows(const Rooms& rooms, JobReport& report);

}  // namespace skewscope::report
