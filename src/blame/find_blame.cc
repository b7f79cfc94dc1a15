// The stage: what each member did since all last left together -> lateness by cause, blame moved back to its origin ->
// the job replayed without it.
#include "skewscope/blame.h"

#include "propagate.h"
#include "what_if.h"

namespace skewscope {

Blame find_blame(const JobTrace& job, const InstanceTable& instances, const ClockModel& clocks,
                 const Decomposition& decomposition) {
  Blame blame;
  blame.traces.resize(job.traces.size());
  if (instances.instances.empty()) return blame;
  const blame::JobView view(job, instances, clocks, decomposition);
  const blame::ReplayPlan plan = blame::plan_replay(view);
  blame::propagate(plan, blame::member_books(plan), blame);
  blame::what_if(plan, blame);
  return blame;
}

}  // namespace skewscope
