// What the efficiency lost from one size to the next, factor by factor.
#pragma once

#include <vector>

#include "skewscope/model/scale_report.h"

namespace skewscope::scale {

// `runs` have complete efficiencies; causes are not filled in. Empty where a factor is not determined in either run.
std::vector<ScaleReport::Loss> losses_between(const std::vector<ScaleReport::Run>& runs, size_t from, size_t to);

}  // namespace skewscope::scale
