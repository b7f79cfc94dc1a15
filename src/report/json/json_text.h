// JSON files of the report directory, as text.
#pragma once

#include <string>

#include "skewscope/report.h"
#include "src/report/fields/json_values.h"

namespace skewscope::report {

Json efficiency_json(const JobReport::Efficiency& efficiency);

// diagnostics.json: every finding with place, count and consequence.
std::string diagnostics_json(const Findings& findings);

}  // namespace skewscope::report
