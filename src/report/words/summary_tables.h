// The two tables of a summary: who is waited for, and in which collectives.
#pragma once

#include "lines.h"
#include "skewscope/model/job_report.h"
#include "src/report/rows/figures.h"

namespace skewscope::report {

// Each with an empty line and a heading, then its largest rows; nothing where there are none.
Lines straggler_table(const JobReport& report, const Figures& f, size_t columns);
Lines collective_table(const JobReport& report, size_t columns);

}  // namespace skewscope::report
