// Sentences about one GPU, on a terminal and on the page.
#pragma once

#include <string>

#include "skewscope/report.h"

namespace skewscope::report {

// The finding that is worth most: the first that is more than information; nullptr: none.
const Advice* first_finding(const RankReport& report);
// How much of its time the GPU works, and what keeps it from working more.
std::string verdict_words(const RankReport& report);
// What to do about it; "" where no rule found anything.
std::string next_words(const RankReport& report);

}  // namespace skewscope::report
