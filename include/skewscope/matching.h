// Stage: JobTrace -> InstanceTable: which calls of which ranks are one collective.
#pragma once

#include "collectives/matcher/matcher.h"
#include "skewscope/model/clock_model.h"
#include "skewscope/model/collective_instance.h"

namespace skewscope {

// The outcomes that the groups of this process came to by themselves; kept where match_again may be asked.
struct MatchedAlone {
  std::vector<MatchOutcome> outcomes;
};

// Never guesses: what cannot be matched is listed unmatched with the reason. Parallel over communicators, in one
// process or several; all get the same table. `kept`: for match_again.
InstanceTable match_collectives(const JobTrace& job, Exchange& exchange = alone(), MatchedAlone* kept = nullptr);

// The same with the clocks that the first match's collectives gave, drift and bend included, as prior for what cannot
// be matched alone, and for messages where some have no partner or contradict these clocks (`kept`: of that match):
// over minutes, clocks known to a millisecond drift by more, and a periodic group slips by a period.
InstanceTable match_again(const JobTrace& job, const ClockModel& clocks, MatchedAlone kept,
                          Exchange& exchange = alone());

// Whether it may come to more: some group was not matched alone, messages have no partner, or one was received before
// it was sent, by more than both clocks may err. Where nothing matched and nothing is aligned, there is nothing to
// match by.
bool clocks_tell_more(const InstanceTable& table, const ClockModel& clocks);

}  // namespace skewscope
