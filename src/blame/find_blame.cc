// The stage: what each GPU stood still for; what each member did since the last collective that all of them left
// together -> lateness by cause, blame moved back to its origin -> the job replayed without it.
//
// Blame moves from instance to instance in one order, so process 0 moves it; what that takes of the rows of a trace
// (its line, the labels of its spans, its kernels) is extracted in the process that holds them. Line, labels and
// exposed time ask when a row was launched: they are extracted in one look, so that a large job need not keep its
// launches during its replay.
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

// What is taken of each trace while it is still known when its rows were launched: lines and marks; what was exposed
// goes into `blame`.
struct LookedAt {
  std::vector<blame::RankLine> lines;    // per trace
  std::vector<blame::LabelMarks> marks;  // per trace
};

class TraceLook {
 public:
  TraceLook(const blame::JobView& view, Exchange& exchange, Blame& blame)
      : view_(view), exchange_(exchange), blame_(blame), steps_(view.d, view.job.traces.size()) {}

  LookedAt at_all(const std::function<void(TraceIndex)>& launches_read) {
    LookedAt found;
    found.marks.resize(view_.job.traces.size());
    tbb::enumerable_thread_specific<ColumnPacker> until_books, staying;
    found.lines = blame::rank_lines(view_, exchange_, [&](TraceIndex trace, const blame::RankLine& line) {
      blame::LabelMarks& marks = found.marks[trace.index()] = blame::label_marks(view_, trace, line);
      until_books.local().pack(marks.at_end);
      staying.local().pack(marks.at_forks);
      add_exposed(trace, line.latency_ns, line.begin);
      blame_.traces[trace.index()].instant_calls_saved_ns = blame::saved_by_instant_calls(view_, trace, line);
      if (launches_read) launches_read(trace);
    });
    tell_exposed();
    return found;
  }

  void at_exposed_alone() {
    tbb::parallel_for(size_t{0}, view_.job.traces.size(), [&](size_t t) {
      const TraceIndex trace(static_cast<int64_t>(t));
      if (!view_.job.holds(trace)) return;
      const RankTrace& rows = view_.job[trace];
      add_exposed(trace, blame::launch_latency_ns(rows.gpu, rows.launches), blame::first_launched(rows));
    });
    tell_exposed();
  }

 private:
  void add_exposed(TraceIndex trace, int64_t latency_ns, LocalNs begin) {
    const blame::ExposedTime exposed = blame::exposed_time(view_.job[trace], latency_ns, begin);
    blame_.traces[trace.index()].exposed = exposed.sums;
    blame::add_to_steps(view_, trace, exposed.blocked, steps_.of(trace), blame_.steps);
  }

  void tell_exposed() {
    tell_first(
        exchange_, blame_.traces.size(), [&](size_t t) { return view_.job.traces[t].process; },
        [&](ByteWriter& writer, size_t t) {
          writer.put(blame_.traces[t].exposed);
          writer.put(blame_.traces[t].instant_calls_saved_ns);
        },
        [&](ByteReader& reader, size_t t) {
          reader.get(blame_.traces[t].exposed);
          reader.get(blame_.traces[t].instant_calls_saved_ns);
        });
    tell_first(
        exchange_, blame_.steps.size(), [&](size_t row) { return view_.job[view_.d.trace_steps[row].trace].process; },
        [&](ByteWriter& writer, size_t row) { writer.put(blame_.steps[row]); },
        [&](ByteReader& reader, size_t row) { reader.get(blame_.steps[row]); });
  }

  const blame::JobView& view_;
  Exchange& exchange_;
  Blame& blame_;
  blame::StepsOfTraces steps_;
};

// What process 0 does on its own while this thread, the only one that may talk to other processes, goes on.
class Alongside {
 public:
  explicit Alongside(const Exchange& exchange) : runs_(exchange.first()) {}

  template <class Task>
  void start(const Task& task) {
    if (runs_) tasks_.run(task);
  }
  void finish() { tasks_.wait(); }

 private:
  bool runs_;
  tbb::task_group tasks_;
};

std::vector<Replay> replay_islands(const blame::ReplayPlan& plan) {
  std::vector<Replay> replayed(plan.islands.size());
  tbb::parallel_for(size_t{0}, replayed.size(),
                    [&](size_t i) { replayed[i] = blame::replay_job(plan, plan.islands[i]); });
  return replayed;
}

std::vector<Pipeline> find_pipelines(const blame::ReplayPlan& plan) {
  std::vector<Pipeline> pipelines(plan.islands.size());
  tbb::parallel_for(size_t{0}, pipelines.size(),
                    [&](size_t i) { pipelines[i] = blame::find_pipeline(plan, static_cast<int32_t>(i)); });
  return pipelines;
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
  TraceLook look(view, exchange, blame);
  if (instances.instances.empty()) {
    look.at_exposed_alone();
    return blame;
  }
  LookedAt traces = look.at_all(launches_read);
  // From here on nobody asks when a row was launched: a trace is its line, its marks and its calls.
  blame::ReplayPlan plan = blame::plan_replay(view, std::move(traces.lines));
  Alongside alongside(exchange);
  alongside.start([&] { blame::add_places(plan); });
  auto books = std::make_optional(blame::member_books(plan, std::move(traces.marks), exchange));
  alongside.finish();
  blame::find_usual(plan, *books);
  // From here on each member has a peer, and books of what both did since all last left together.
  std::vector<Replay> replayed;
  std::vector<Pipeline> pipelines;
  alongside.start([&] {
    blame::add_moments(plan);
    replayed = replay_islands(plan);
  });
  alongside.start([&] { pipelines = find_pipelines(plan); });
  blame::propagate(plan, *books, exchange, blame);
  // From here on every nanosecond waited is blamed on the rank where the wait began.
  books.reset();
  const int64_t at_once_ns = blame::computing_at_once_ns(view, exchange);
  alongside.finish();
  if (exchange.first()) judge_islands(plan, replayed, std::move(pipelines), at_once_ns, blame);
  return blame;
}

}  // namespace skewscope
