// How much of communication is hidden, by kind of group, operation, size and phase: rows, table, JSON.
#pragma once

#include <vector>

#include "json_values.h"
#include "rooms.h"
#include "table.h"

namespace skewscope::report {

std::vector<JobReport::OverlapRow> overlap_rows(const Decomposition& decomposition);
Table overlap_table(const JobReport& report);
Json overlap_json(const std::vector<JobReport::OverlapRow>& rows);

}  // namespace skewscope::report
