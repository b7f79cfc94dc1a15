// JSON files of the report directory, as text.
#pragma once

#include <string>

#include "skewscope/report.h"

namespace skewscope::report {

// diagnostics.json: every finding with place, count and consequence.
std::string diagnostics_json(const Findings& findings);

}  // namespace skewscope::report
