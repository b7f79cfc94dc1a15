// The stage: what each GPU stood still for; what each member did since all last left together -> lateness by cause,
// blame moved back to its origin -> the job replayed without it.
//
// Blame moves from instance to instance in one order, so process 0 moves it; what that takes of the rows of a trace
// (its line, the labels of its spans, its kernels) is extracted in the process that holds them. Line, labels and
// exposed time ask when a row was launched: they are extracted in one look, so that a large job need not keep its
// launches beside its replay.
#include "skewscope/blame.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

#include <optional>

#include "shared_gpus.h"
#include "src/blame/line/blocking.h"
#include "src/blame/line/line_stops.h"
#include "src/blame/origin/propagate.h"
#include "src/blame/pipeline/pipeline.h"
#include "src/blame/replay/instant_calls.h"
#include "src/blame/replay/what_if.h"

namespace skewscope {

namespace {

void tell_exposed(const JobTrace& job, const Decomposition& decomposition, Exchange& exchange, Blame& blame) {
  tell_first(
      exchange, blame.traces.size(), [&](size_t t) { return job.traces[t].process; },
      [&](ByteWriter& writer, size_t t) {
        writer.put(blame.traces[t].exposed);
        writer.put(blame.traces[t].instant_calls_saved_ns);
      },
      [&](ByteReader& reader, size_t t) {
        reader.get(blame.traces[t].exposed);
        reader.get(blame.traces[t].instant_calls_saved_ns);
      });
  tell_first(
      exchange, blame.steps.size(), [&](size_t row) { return job[decomposition.trace_steps[row].trace].process; },
      [&](ByteWriter& writer, size_t row) { writer.put(blame.steps[row]); },
      [&](ByteReader& reader, size_t row) { reader.get(blame.steps[row]); });
}

void judge_islands(const blame::ReplayPlan& plan, const std::vector<Replay>& replayed, std::vector<Pipeline> pipelines,
                   int64_t at_once_ns, Blame& blame) {
  std::vector<IslandBlame> islands(replayed.size());
  tbb::parallel_for(size_t{0}, islands.size(), [&](size_t i) {
    islands[i] = blame::what_if(plan, plan.islands[i], replayed[i], std::move(pipelines[i]), at_once_ns, blame.traces);
  });
  static_cast<IslandBlame&>(blame) = islands.front();
  if (islands.size() > 1) blame.islands = std::move(islands);
}

}  // namespace

Blame find_blame(const JobTrace& job, const InstanceTable& instances, const ClockModel& clocks,
                 const Decomposition& decomposition, Exchange& exchange,
                 const std::function<void(TraceIndex)>& launches_read) {
  Blame blame;
  blame.traces.resize(job.traces.size());
  blame.steps.resize(decomposition.trace_steps.size());
  const blame::JobView view(job, instances, clocks, decomposition);
  const blame::StepsOfTraces steps(decomposition, job.traces.size());
  const auto add_exposed = [&](TraceIndex trace, int64_t latency_ns, LocalNs begin) {
    const blame::ExposedTime exposed = blame::exposed_time(job[trace], latency_ns, begin);
    blame.traces[trace.index()].exposed = exposed.sums;
    blame::add_to_steps(view, trace, exposed.blocked, steps.of(trace), blame.steps);
  };
  if (instances.instances.empty()) {
    tbb::parallel_for(size_t{0}, job.traces.size(), [&](size_t t) {
      const TraceIndex trace(static_cast<int64_t>(t));
      if (!job.holds(trace)) return;
      add_exposed(trace, blame::launch_latency_ns(job[trace].gpu, job[trace].launches),
                  blame::first_launched(job[trace]));
    });
    tell_exposed(job, decomposition, exchange, blame);
    return blame;
  }
  std::vector<blame::LabelMarks> marks(job.traces.size());
  tbb::enumerable_thread_specific<ColumnPacker> until_books, staying;
  std::vector<blame::RankLine> lines =
      blame::rank_lines(view, exchange, [&](TraceIndex trace, const blame::RankLine& line) {
        blame::LabelMarks& of_trace = marks[trace.index()] = blame::label_marks(view, trace, line);
        until_books.local().pack(of_trace.at_end);
        staying.local().pack(of_trace.at_forks);
        add_exposed(trace, line.latency_ns, line.begin);
        blame.traces[trace.index()].instant_calls_saved_ns = blame::saved_by_instant_calls(view, trace, line);
        if (launches_read) launches_read(trace);
      });
  tell_exposed(job, decomposition, exchange, blame);
  blame::ReplayPlan plan = blame::plan_replay(view, std::move(lines));
  tbb::task_group beside;  // this thread, the one that may talk to other processes
  if (exchange.first()) beside.run([&] { blame::add_places(plan); });
  auto books = std::make_optional(blame::member_books(plan, std::move(marks), exchange));
  beside.wait();
  blame::find_usual(plan, *books);
  const size_t islands = plan.islands.size();
  std::vector<Replay> replayed(islands);
  std::vector<Pipeline> pipelines(islands);
  const auto replay = [&] {  // needs no origins
    blame::add_moments(plan);
    tbb::parallel_for(size_t{0}, islands, [&](size_t i) { replayed[i] = blame::replay_job(plan, plan.islands[i]); });
  };
  if (exchange.first()) {
    beside.run(replay);
    beside.run([&] {
      tbb::parallel_for(size_t{0}, islands,
                        [&](size_t i) { pipelines[i] = blame::find_pipeline(plan, static_cast<int32_t>(i)); });
    });
  }
  blame::propagate(plan, *books, exchange, blame);
  books.reset();
  const int64_t at_once_ns = blame::computing_at_once_ns(view, exchange);
  beside.wait();
  if (exchange.first()) judge_islands(plan, replayed, std::move(pipelines), at_once_ns, blame);
  return blame;
}

}  // namespace skewscope
