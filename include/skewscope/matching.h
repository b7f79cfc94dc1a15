// Stage: JobTrace -> InstanceTable: which calls of which ranks are one collective.
#pragma once

#include "skewscope/model/clock_model.h"
#include "skewscope/model/collective_instance.h"

namespace skewscope {

// Never guesses: what cannot be matched is listed unmatched with the reason. Parallel over communicators, in one
// process or several; all get the same table.
InstanceTable match_collectives(const JobTrace& job, Exchange& exchange = alone());

// The same with the clocks that the first match's collectives gave, drift and bend included, as prior for what cannot
// be matched alone: over minutes, clocks known to a millisecond drift by more, and a periodic group slips by a period.
InstanceTable match_again(const JobTrace& job, const ClockModel& clocks, Exchange& exchange = alone());

}  // namespace skewscope
