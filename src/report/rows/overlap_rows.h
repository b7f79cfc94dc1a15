// How much of communication is hidden, by kind of group, operation, size and phase, and by module: rows, tables, JSON.
#pragma once

#include <string>
#include <vector>

#include "rooms.h"
#include "src/report/fields/json_values.h"
#include "src/report/fields/table.h"

namespace skewscope::report {

std::vector<JobReport::OverlapRow> overlap_rows(const Decomposition& decomposition);
// `modules`: of the job.
std::vector<JobReport::OverlapRow> overlap_module_rows(const Decomposition& decomposition,
                                                       const std::vector<std::string>& modules);
std::vector<Table> overlap_tables(const JobReport& report);
Json overlap_json(const std::vector<JobReport::OverlapRow>& rows);
Json overlap_modules_json(const std::vector<JobReport::OverlapRow>& rows);

}  // namespace skewscope::report
