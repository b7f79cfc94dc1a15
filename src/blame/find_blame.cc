// The stage: what each member did since all last left together -> lateness by cause, blame moved back to its origin ->
// the job replayed without it.
//
// Blame moves from instance to instance in one order, so process 0 moves it; what that takes of the rows of a trace
// (its line, the labels of its spans, its kernels) is extracted in the process that holds them.
#include "skewscope/blame.h"

#include <tbb/task_group.h>

#include "propagate.h"
#include "what_if.h"

namespace skewscope {

Blame find_blame(const JobTrace& job, const InstanceTable& instances, const ClockModel& clocks,
                 const Decomposition& decomposition, Exchange& exchange) {
  Blame blame;
  blame.traces.resize(job.traces.size());
  if (instances.instances.empty()) return blame;
  const blame::JobView view(job, instances, clocks, decomposition);
  const blame::ReplayPlan plan = blame::plan_replay(view, exchange);
  Replay replayed;
  tbb::task_group replaying;  // needs no origins; this thread is the one that may talk to other processes
  if (exchange.first()) replaying.run([&] { replayed = blame::replay_job(plan); });
  blame::propagate(plan, blame::member_books(plan, exchange), exchange, blame);
  replaying.wait();
  if (exchange.first()) blame::what_if(plan, replayed, blame);
  return blame;
}

}  // namespace skewscope
