// The host that the name of a trace file tells, where nothing else can be meant. A wrong host is worse than none: ranks
// of one host are taken to share a clock.
#pragma once

#include <string>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// "" where the name does not tell it. Two forms do: "@node17" (base/named_host.h), and "node17_2215.1694128201545
// .pt.trace.json", HOST_PID.STAMP of torch.profiler's own handler, if the trace is of this very process.
std::string host_in_name(const RankEvidence& file);

}  // namespace skewscope::ingest
