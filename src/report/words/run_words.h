// Sentences about several runs, on a terminal and on the page.
#pragma once

#include <string>

#include "skewscope/model/compare_report.h"
#include "skewscope/model/scale_report.h"

namespace skewscope::report {

// How much faster the largest run is than the smallest.
std::string verdict_words(const ScaleReport& report);
// The cause of most points of the POP tree; "" where none is named.
std::string why_words(const ScaleReport& report);
// Weak or strong, who says so, and from what.
std::string scaling_words(const ScaleReport& report);
// What larger sizes would take, or why that is not said.
std::string projection_words(const ScaleReport& report);

// How much slower, and whether that may be chance.
std::string verdict_words(const CompareReport& report);

}  // namespace skewscope::report
