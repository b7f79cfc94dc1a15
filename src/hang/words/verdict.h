#pragma once

#include <string>

#include "skewscope/model/hang_report.h"

namespace skewscope::hang {

// One sentence: who holds up whom.
std::string verdict_of(const HangReport& report);
// What to look at first.
std::string next_of(const HangReport& report);
// "all_reduce 41 of group 7"; a message: "send 0->1 in group 7".
std::string link_words(const HangLink& link);

}  // namespace skewscope::hang
