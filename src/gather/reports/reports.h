// When a job's report is due, and the process that makes it.
#pragma once

#include <memory>

#include "skewscope/gather.h"
#include "src/gather/history/history.h"
#include "src/gather/kept/store.h"

namespace skewscope::gather {

// Pure: when the next report of a job is due (nullopt: not before its state changes).
std::optional<Time> report_due(const JobState& job, const GatherDeadlines& deadlines);

// A child, forked before any thread of the daemon runs, that forks a limited process per report (own memory, time and
// file size limits, no network, no exec, writes only its output). The daemon talks to it over a socket pair.
class ReportForker {
 public:
  // Forks. In the children `make_report` runs and its return value is the exit code.
  static Result<std::unique_ptr<ReportForker>> start(const GatherOptions& options, const MakeReport& make_report);
  virtual ~ReportForker() = default;
  // `done` is called on a thread of the forker with the exit code; 128 + signal for a crash, 124 for too long,
  // kCannotFork, kForkerGone.
  virtual void run(const ReportTask& task, std::function<void(int exit_code)> done) = 0;
  // Ends what runs; every `done` has been called when it returns, and what is run later ends at once with kForkerGone.
  virtual void stop() = 0;
  // No: it makes no report any more, and there is no other without a start of the daemon.
  virtual bool alive() const = 0;
};

// Watches the store and keeps every job's report current: at once when its ranks are complete, at the deadline without
// the missing ones, again after a late arrival. At most `report_processes` at once; a crash is tried once more, want of
// processes or memory some times, with a pause between. Deletes what retention lets go. What reports say goes into the
// history.
class ReportScheduler {
 public:
  // `ended` hears, on the scheduler's thread, of each job whose report has ended, once the history has it.
  using ReportHasEnded = std::function<void(const JobState& job)>;
  static std::unique_ptr<ReportScheduler> start(Store& store, ReportForker& forker, History& history,
                                                const GatherOptions& options, ReportHasEnded ended = nullptr);
  // Ends the reports that run, by the forker's stop(); the store makes them again after its next start.
  virtual ~ReportScheduler() = default;
  // Deadlines, retention, processes and memory from now on.
  virtual void use(const GatherOptions& options) = 0;
};

// Every file it has is in a report that has ended, and none is on its way. True of a job that has sent nothing, too.
bool is_over(const JobState& job);
// Jobs to delete that are over, by age and by total bytes, oldest first; not more than a sweep may take.
std::vector<std::string> jobs_to_delete(const std::vector<JobState>& jobs, const GatherRetention& retention,
                                        const Aging& aging);

}  // namespace skewscope::gather
