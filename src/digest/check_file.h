// Whether a TraceFile that came from outside is one that a reader of traces could have made.
#pragma once

#include <string>

#include "skewscope/model/trace_file.h"

namespace skewscope::digest {

// Empty: it is; else the first thing that is not, in words. Beyond the data's own invariants: enums have names, ids
// and groups exist, times cannot overflow when they are added.
std::string what_is_wrong(const TraceFile& file);

}  // namespace skewscope::digest
