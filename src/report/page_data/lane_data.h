// What the page's timeline shows: work and calls of the ranks that were chosen for it.
#pragma once

#include <nlohmann/json.hpp>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

constexpr size_t kMostLaneCalls = 24'000;  // calls, or blocks of several, of all lanes together
constexpr size_t kMostLaneNames = 1'000;   // of kernels

// null where no rank was chosen. {ranks, unit_ns, merged_below_ns, calls_merged_below_ns, names, ops, lanes: [{rank,
// reason, work, calls}]}; `work`: per block its start less that of the one before, length, time in which nothing ran,
// rows less one, and twice the name's number, one more for copies; `calls`: per block its start less that of the one
// before, length, wait (none: not split), calls less one, and of its longest call the instance less that of the block
// before, group, operation, and who arrived last (none: not known). Times in units of unit_ns since the job's first
// event.
nlohmann::ordered_json lane_data(const JobReport& report);

}  // namespace skewscope::report
