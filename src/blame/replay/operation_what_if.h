// What hiding an operation's transfers, or a link twice as fast for them, would gain. See operation_what_if.cc.
#pragma once

#include "replay.h"
#include "skewscope/model/blame.h"

namespace skewscope::blame {

// `replayed_ns`: the length of the island's unchanged replay.
std::vector<OperationWhatIf> what_if_operations(const ReplayPlan& plan, const ReplayIsland& island,
                                                int64_t replayed_ns);

}  // namespace skewscope::blame
