// The story. A directory of rank traces goes in; what comes out says where the time of every collective went.
//
// It is written once, for one process and for many: each holds the events of the files that it read, all know the rest,
// and what a stage needs of others goes through the exchange.

#include "skewscope/correlate.h"

#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <mutex>

#include "skewscope/attribute.h"
#include "skewscope/blame.h"
#include "skewscope/lanes.h"
#include "skewscope/matching.h"
#include "skewscope/report.h"
#include "skewscope/select.h"
#include "skewscope/summarize.h"

namespace skewscope {
namespace {

RankFigures detailed_figures(const LinkedTrace& linked, const IngestOptions& ingest) {
  RankFigures figures = figures_of(tabulate_trace(linked.trace, linked.strings, &*linked.detail));
  OperatorOptions wanted;
  wanted.communicating = ingest.kernels.get();
  wanted.kernels = wanted.collectives = wanted.work = wanted.annotations = wanted.compiled = false;
  for (RankFigure& figure : figures_of(tabulate_operators(linked.trace, *linked.detail, linked.strings, wanted))) {
    figures.push_back(std::move(figure));
  }
  return figures;
}

// The chain from the traces of a job on.
Result<CorrelatedJob> split_ingested(JobTrace job, const std::optional<StepNumbers>& steps, AlignMode mode,
                                     StageTimer& timer, Exchange& exchange);

}  // namespace

Result<CorrelatedJob> split_job(const std::vector<std::string>& files, const IngestOptions& ingest, AlignMode mode,
                                StageTimer& timer, Exchange& exchange) {
  // Read every file, in parallel and in bounded memory, and find out which rank each one is.
  Result<IngestedJob> ingested = [&] {
    const StageTimer::Scope scope(timer, "ingest");
    IngestOptions all_steps = ingest;
    all_steps.whole = true;
    return ingest_job(files, all_steps, timer, exchange);
  }();
  if (!ingested.ok()) return ingested.error();
  Result<CorrelatedJob> split = split_ingested(std::move(ingested.value().job), ingest.steps, mode, timer, exchange);
  if (split.ok()) split.value().logged = std::move(ingested.value().logged);
  return split;
}

namespace {

Result<CorrelatedJob> split_ingested(JobTrace job, const std::optional<StepNumbers>& steps, AlignMode mode,
                                     StageTimer& timer, Exchange& exchange) {
  // From here on traces only give back what nobody asks for any more; their clocks are still each rank's own.
  assert(check_invariants(job).empty());

  // Find the calls of different ranks that are one collective; refuse rather than guess.
  MatchedAlone matched_alone;
  InstanceTable instances = [&] {
    const StageTimer::Scope scope(timer, "match");
    return match_collectives(job, exchange, &matched_alone);
  }();
  // From here on every call is in exactly one instance or listed as unmatched with its reason.
  assert(check_invariants(instances, job).empty());

  // All members leave a collective together: that aligns their clocks.
  const auto align = [&] {
    const StageTimer::Scope scope(timer, "align");
    return align_clocks(job, instances, mode, exchange);
  };
  ClockModel clocks = align();
  // With fitted clocks, what could not be matched alone is clear or clearly refused, and so are messages that they
  // contradict; with that, more clocks may be aligned. Where nothing matched and nothing is aligned, there is nothing
  // new to match by.
  if (clocks_tell_more(instances, clocks)) {
    {
      const StageTimer::Scope scope(timer, "match");
      instances = match_again(job, clocks, std::move(matched_alone), exchange);
    }
    assert(check_invariants(instances, job).empty());
    clocks = align();
  }
  for (RankTrace& trace : job.traces) forget_messages(trace);  // from here on the links between members say it
  // From here on there is one clock per component of ranks that talk to each other, with an uncertainty.
  assert(check_invariants(clocks, job).empty());

  // All steps have said which calls are one and what time it is; what follows is about those that were asked for.
  if (steps) {
    const StageTimer::Scope scope(timer, "select steps");
    const Result<Done> selected = select_steps(*steps, job, instances, clocks, exchange);
    if (!selected.ok()) return selected.error();
    assert(check_invariants(job).empty() && check_invariants(instances, job).empty());
  }

  // Split each call into waiting for the late and moving bytes, and charge the wait to who caused it.
  Decomposition decomposition = [&] {
    const StageTimer::Scope scope(timer, "attribute");
    return attribute_time(job, instances, clocks, exchange);
  }();
  // From here on every nanosecond of every call has one label, and parts sum to the whole.
  assert(check_invariants(decomposition, instances, job).empty());
  for (RankTrace& trace : job.traces) forget_splits(trace);
  return CorrelatedJob{std::move(job), std::move(instances), std::move(clocks), std::move(decomposition)};
}

enum class AfterUse : uint8_t { keep_rows, forget_rows };

// The rest of the story: a split job goes in, what is said of it comes out.
JobReport explain(CorrelatedJob& split, RankTableChoice rank_tables, std::map<std::string, RankFigures> figures_by_file,
                  AfterUse after_use, StageTimer& timer, Exchange& exchange) {
  JobTrace& job = split.job;
  const InstanceTable& instances = split.instances;
  const ClockModel& clocks = split.clocks;
  const Decomposition& decomposition = split.decomposition;

  // See what each GPU did on its own.
  const std::vector<RankSummary> summaries = [&] {
    const StageTimer::Scope scope(timer, "summarize");
    return summarize_job(job, exchange);
  }();

  const std::vector<RankFigures> figures = [&] {
    const StageTimer::Scope scope(timer, "rank tables");
    if (rank_tables == RankTableChoice::none) return std::vector<RankFigures>();
    return figures_of_job(job, std::move(figures_by_file), exchange);
  }();

  // Ask why the late were late, and move blame from victims back to where it began. Of a large job, launches are a
  // third of what was read, and this is the last to ask for them, but for why each GPU was idle.
  std::vector<IdleTimes> idle(job.traces.size());
  const auto see_idle = [&](TraceIndex trace) {
    idle[trace.index()] = idle_times(job.traces[trace.index()], job.traces.size());
  };
  const Blame blame = [&] {
    const StageTimer::Scope scope(timer, "blame");
    gather_calls(job, exchange);
    return find_blame(job, instances, clocks, decomposition, exchange, [&](TraceIndex trace) {
      see_idle(trace);
      if (after_use == AfterUse::forget_rows) forget_launches(job.traces[trace.index()]);
    });
  }();
  // From here on process 0 knows why: the same wait is charged twice, directly and to its origin, with equal sums.
  assert(!exchange.first() || check_invariants(blame, decomposition).empty());

  // Keep what the page's timeline shows: the work of culprits, of their victims and of some others.
  WorkLanes lanes = [&] {
    const StageTimer::Scope scope(timer, "lanes");
    if (instances.instances.empty()) {  // blame has read no launches
      for (size_t t = 0; t < job.traces.size(); ++t) {
        if (job.holds(TraceIndex(static_cast<int64_t>(t)))) see_idle(TraceIndex(static_cast<int64_t>(t)));
      }
    }
    return draw_lanes(job, clocks, decomposition, blame, idle, exchange);
  }();

  // From here on process 0 has all that the others had to say.
  if (!exchange.first()) return JobReport();

  // Nobody asks for GPU rows any more. Giving back those of a large trace takes as long as building the report.
  const StageTimer::Scope scope(timer, "report");
  JobReport report;
  tbb::parallel_invoke([&] { report = build_report(job, instances, clocks, decomposition, blame, summaries, figures); },
                       [&] {
                         if (after_use == AfterUse::keep_rows) return;
                         for (RankTrace& trace : job.traces) forget_rows(trace);
                       });
  report.lanes = std::move(lanes);
  return report;
}

}  // namespace

JobReport explain_job(CorrelatedJob& job, StageTimer& timer) {
  return explain(job, RankTableChoice::none, {}, AfterUse::keep_rows, timer, alone());
}

Result<JobReport> correlate_files(const std::vector<std::string>& files, const CorrelateOptions& options,
                                  StageTimer& timer, Exchange& exchange) {
  // The details of a file's rows are there only while it is read: what is wanted of them is made then.
  std::mutex figures_lock;
  std::map<std::string, RankFigures> figures_by_file;
  IngestOptions ingest = options.ingest;
  ingest.keep_launch_threads = options.keep != nullptr;
  if (options.rank_tables == RankTableChoice::all) {
    ingest.bytes_while_details_last = [](const LinkedTrace& linked) {
      return bytes_to_tabulate(linked.trace, *linked.detail, linked.strings);
    };
    ingest.while_details_last = [&](const TraceFile& file) {
      if (!file.linked.detail) return;
      RankFigures figures = detailed_figures(file.linked, ingest);
      const std::scoped_lock lock(figures_lock);
      figures_by_file[file.evidence.file] = std::move(figures);
    };
  }

  Result<CorrelatedJob> split = split_job(files, ingest, options.align, timer, exchange);
  if (!split.ok()) return split.error();
  const AfterUse after_use = options.keep == nullptr ? AfterUse::forget_rows : AfterUse::keep_rows;
  JobReport report =
      explain(split.value(), options.rank_tables, std::move(figures_by_file), after_use, timer, exchange);
  std::optional<JobTrace> logs = std::move(split.value().logged);
  if (options.keep != nullptr) *options.keep = std::move(split).value();
  if (!logs) return report;

  // Logs go on where traces end: how ranks changed over hours is seen in them alone.
  const StageTimer::Scope scope(timer, "trend of logs");
  const Result<CorrelatedJob> logged = split_ingested(std::move(*logs), {}, options.align, timer, exchange);
  if (!logged.ok()) return logged.error();
  if (exchange.first()) set_logged_trend(logged.value(), report);
  return report;
}

Result<JobReport> correlate(const std::vector<std::string>& paths, const CorrelateOptions& options, StageTimer& timer,
                            Exchange& exchange) {
  const Result<std::vector<std::string>> files = discover_files(paths, exchange);
  return files.ok() ? correlate_files(files.value(), options, timer, exchange) : files.error();
}

}  // namespace skewscope
