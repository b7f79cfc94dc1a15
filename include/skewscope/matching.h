// Stage: JobTrace -> InstanceTable: which calls of which ranks are one collective.
#pragma once

#include "skewscope/model/collective_instance.h"

namespace skewscope {

// Never guesses: what cannot be matched is listed unmatched with the reason. Parallel over communicators.
InstanceTable match_collectives(const JobTrace& job);

}  // namespace skewscope
