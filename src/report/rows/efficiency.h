// POP and TALP efficiencies of a job from its ranks' timelines.
#pragma once

#include "skewscope/model/job_report.h"

namespace skewscope::report {

// `report` holds its ranks, steps and what_if already.
JobReport::Efficiency efficiency_of(const JobReport& report);

// The longest rank's timeline that these are shares of: whole, or in the steps that all ranks recorded.
int64_t elapsed_ns(const JobReport& report);

bool recorded_by_all(const JobReport& report, const JobReport::StepRow& step);

// Whether some steps were recorded by all ranks and others not.
bool windows_differ(const JobReport& report);

}  // namespace skewscope::report
