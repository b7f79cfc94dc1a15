// Who was late, how often, at what price to the others.
#pragma once

#include <vector>

#include "sources.h"

namespace skewscope::report {

// Ranks that were last or cause waiting: confirmed causes first; then by the waiting that they cause and that is not
// the program's, by what of it they cause directly, by rank.
std::vector<JobReport::Straggler> stragglers_of(const Sources& sources);
std::vector<JobReport::CauseRow> cause_rows(const Sources& sources);
std::vector<JobReport::FlowRow> flow_rows(const Sources& sources);

}  // namespace skewscope::report
