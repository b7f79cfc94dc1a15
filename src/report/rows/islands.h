// A job whose ranks are not all compared: each island of ranks that are is reported by itself, as a report of its own.
#pragma once

#include <string>
#include <vector>

#include "sources.h"

namespace skewscope::report {

// Those of several ranks, the longest first, without their losses; none where all ranks are compared.
std::vector<JobReport::Island> island_rows(const Sources& sources, const JobReport& report);

// The job's report as if these were its only ranks. Without the rows of single calls.
JobReport report_of(const JobReport& report, const JobReport::Island& island);

// Null: the rank is compared with no other, or all are.
const JobReport::Island* island_of(const JobReport& report, int32_t rank);

// The island that is reported first: of the largest loss, else the longest. Null: the job is reported as a whole, since
// all its ranks are compared, or fewer than half of them are with any other.
const JobReport::Island* leading_island(const JobReport& report);

// Gives each island its losses; all of them, most weight first. Of a job reported as a whole, its own.
std::vector<JobReport::Loss> losses_of_islands(JobReport& report);

// Ranks that no call aligns to others, and groups of ranks that are aligned; 1: all ranks are compared.
size_t component_count(const JobReport& report);

// "2 components (4 + 4 ranks), not compared"; "" where all ranks are.
std::string component_words(const JobReport& report);

}  // namespace skewscope::report
