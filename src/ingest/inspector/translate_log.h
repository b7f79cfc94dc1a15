// The log of a process without a trace, in a job of which others have traces.
#pragma once

#include "learn_from_log.h"

namespace skewscope::ingest {

// Calls of the log are called as the traces call them; those that ran before and after are left out. False: none ran
// while a trace was recorded, and the log is as it was.
bool translate_log(const ToldByTrace& told, TraceFile& log);

// The rank of the whole job, where a group of the traces tells it.
void say_rank_of_log(const ToldByTrace& told, TraceFile& log);

}  // namespace skewscope::ingest
