// What hiding an operation's transfers, or a faster link for them, would gain: rows and words.
#pragma once

#include <string>
#include <vector>

#include "rooms.h"

namespace skewscope::report {

std::vector<JobReport::WhatIf::Operation> operation_rows(const IslandBlame& blame, const GroupKinds& groups,
                                                         const std::vector<std::string>& modules);

// What a user would gain most by hiding, where that is more than evening out the ranks would gain; "" otherwise.
std::string hiding_words(const JobReport::WhatIf& what_if);

}  // namespace skewscope::report
