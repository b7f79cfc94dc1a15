// A report is due when ranks came, or were announced, that the newest one does not know:
//   all ranks are there                        -> at once
//   some are missing, none was made yet        -> at the deadline: some time after the last byte, or after "no more
//                                                 captures"
//   some are missing, a partial one is out     -> when arrivals pause
//   some were replaced and others not (mixed)  -> at the deadline: until then the rest of a second run may come
// Dumps of a job that hangs are many at once: the report is due when they pause, whatever else is missing.
// One that is to be tried again waits for as long as arrivals must pause; so does every one after the first, whatever
// is new to it, and for as long as the one before took: no job keeps the reports of others waiting by asking for its
// own.
// Logs that grow bring bytes all the time: their report is made again --log-period after the last ended, and nine
// times as long after it as that one took.
#include "reports.h"

#include <algorithm>

namespace skewscope::gather {

namespace {

constexpr int kRestOfLogs = 9;  // of ten parts of the time, one may go into reports of logs that grow

std::chrono::seconds after_first(const JobState& job, const GatherDeadlines& deadlines) {
  return job.settings.deadline.value_or(deadlines.after_last_byte);
}

Time deadline_of(const JobState& job, const GatherDeadlines& deadlines) {
  const Time quiet = job.last_byte + job.settings.deadline.value_or(deadlines.after_last_byte);
  return job.ended ? std::min(quiet, std::max(job.ended_at, job.last_arrival) + deadlines.after_end) : quiet;
}

bool has_new_dumps(const JobState& job) { return job.dumps > 0 && job.last_dump >= job.reported_at - job.report_took; }

Time due_of_traces(const JobState& job, const GatherDeadlines& deadlines) {
  const bool again = job.reported_arrivals > 0;
  const std::chrono::seconds pause = job.grows ? std::max(deadlines.debounce, deadlines.logs) : deadlines.debounce;
  const std::chrono::seconds rest = job.grows ? kRestOfLogs * job.report_took : job.report_took;
  const Time repeated = again ? job.reported_at + std::max(pause, rest) : Time{};
  if (job.mixed) return std::max(repeated, deadline_of(job, deadlines));
  if (is_whole(job)) return std::max(repeated, job.last_arrival);
  if (job.grows)
    return again ? repeated : std::min(deadline_of(job, deadlines), job.created + after_first(job, deadlines));
  return again ? std::max(repeated, job.last_arrival + deadlines.debounce) : deadline_of(job, deadlines);
}

Time first_due(const JobState& job, const GatherDeadlines& deadlines) {
  const Time due = due_of_traces(job, deadlines);
  if (!has_new_dumps(job)) return due;
  const Time quiet = job.last_dump + deadlines.debounce;
  return std::min(due, job.reported_arrivals > 0 ? std::max(quiet, job.reported_at + deadlines.debounce) : quiet);
}

}  // namespace

std::optional<Time> report_due(const JobState& job, const GatherDeadlines& deadlines) {
  const bool unseen = job.arrivals > job.reported_arrivals;
  if (!unseen || job.report == ReportState::running) return std::nullopt;
  const Time due = first_due(job, deadlines);
  return job.failed_at ? std::max(due, *job.failed_at + deadlines.debounce) : due;
}

}  // namespace skewscope::gather
