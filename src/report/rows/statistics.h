// Statistics of a set of numbers (see job_report.h for the definitions).
#pragma once

#include <vector>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

// Sorts `values`; the result does not depend on their order.
Statistics statistics_of(std::vector<double>& values);

}  // namespace skewscope::report
