// The runs of a job's series on its page: how the time of a step went from run to run, and what each report said.
#pragma once

#include <string>
#include <vector>

#include "src/gather/history/history.h"

namespace skewscope::gather {

// Markup. `runs`: the newest first; "" for less than two of them.
std::string runs_section(const std::string& series, const std::vector<Run>& runs);

}  // namespace skewscope::gather
