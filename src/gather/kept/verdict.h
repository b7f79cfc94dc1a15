// What a report says first.
#pragma once

#include <string>
#include <string_view>

#include "store.h"

namespace skewscope::gather {

// The verdict, the first thing that a report's summary.txt says, but for how many dumps it is of, on one line and cut
// after 300 bytes; "": it has none.
std::string verdict_in_summary(std::string_view summary);
// The same of the job's newest report; `summary`: which file of it.
std::string verdict_in(const Store& store, const std::string& job, const std::string& summary);

}  // namespace skewscope::gather
