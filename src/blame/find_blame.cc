// The stage: what each member did since all last left together -> lateness by cause, blame moved back to its origin ->
// the job replayed without it.
//
// Blame moves from instance to instance in one order, so process 0 moves it; what that takes of the rows of a trace
// (its line, the labels of its spans, its kernels) is extracted in the process that holds them. Line and labels ask
// when a row was launched: they are extracted in one look, so that a large job need not keep its launches beside its
// replay.
#include "skewscope/blame.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/task_group.h>

#include <optional>

#include "pipeline.h"
#include "propagate.h"
#include "what_if.h"

namespace skewscope {

Blame find_blame(const JobTrace& job, const InstanceTable& instances, const ClockModel& clocks,
                 const Decomposition& decomposition, Exchange& exchange,
                 const std::function<void(TraceIndex)>& launches_read) {
  Blame blame;
  blame.traces.resize(job.traces.size());
  if (instances.instances.empty()) return blame;
  const blame::JobView view(job, instances, clocks, decomposition);
  std::vector<blame::LabelMarks> marks(job.traces.size());
  tbb::enumerable_thread_specific<ColumnPacker> until_books, staying;
  std::vector<blame::RankLine> lines =
      blame::rank_lines(view, exchange, [&](TraceIndex trace, const blame::RankLine& line) {
        blame::LabelMarks& of_trace = marks[trace.index()] = blame::label_marks(view, trace, line);
        until_books.local().pack(of_trace.at_end);
        staying.local().pack(of_trace.at_forks);
        if (launches_read) launches_read(trace);
      });
  blame::ReplayPlan plan = blame::plan_replay(view, std::move(lines));
  tbb::task_group beside;  // this thread, the one that may talk to other processes
  if (exchange.first()) beside.run([&] { blame::add_places(plan); });
  auto books = std::make_optional(blame::member_books(plan, std::move(marks), exchange));
  beside.wait();
  blame::find_usual(plan, *books);
  Replay replayed;
  const auto replay = [&] {  // needs no origins
    blame::add_moments(plan);
    replayed = blame::replay_job(plan);
  };
  if (exchange.first()) {
    beside.run(replay);
    beside.run([&] { blame.pipeline = blame::find_pipeline(plan); });
  }
  blame::propagate(plan, *books, exchange, blame);
  books.reset();
  beside.wait();
  if (exchange.first()) blame::what_if(plan, replayed, blame);
  return blame;
}

}  // namespace skewscope
