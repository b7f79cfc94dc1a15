// A report is due when ranks came, or were announced, that the newest one does not know:
//   all ranks are there                        -> at once
//   some are missing, none was made yet        -> at the deadline: some time after the last byte, or after "no more
//                                                 captures"
//   some are missing, a partial one is out     -> when arrivals pause
//   some were replaced and others not (mixed)  -> at the deadline: until then the rest of a second run may come
// One that is to be tried again waits for as long as arrivals must pause; so does every one after the first, whatever
// is new to it, and for as long as the one before took: no job keeps the reports of others waiting by asking for its
// own.
#include "reports.h"

#include <algorithm>

namespace skewscope::gather {

namespace {

Time deadline_of(const JobState& job, const GatherDeadlines& deadlines) {
  const Time quiet = job.last_byte + job.settings.deadline.value_or(deadlines.after_last_byte);
  return job.ended ? std::min(quiet, std::max(job.ended_at, job.last_arrival) + deadlines.after_end) : quiet;
}

Time first_due(const JobState& job, const GatherDeadlines& deadlines) {
  const bool again = job.reported_arrivals > 0;
  const Time repeated = again ? job.reported_at + std::max(deadlines.debounce, job.report_took) : Time{};
  if (job.mixed) return std::max(repeated, deadline_of(job, deadlines));
  if (is_whole(job)) return std::max(repeated, job.last_arrival);
  return again ? std::max(repeated, job.last_arrival + deadlines.debounce) : deadline_of(job, deadlines);
}

}  // namespace

std::optional<Time> report_due(const JobState& job, const GatherDeadlines& deadlines) {
  const bool unseen = job.arrivals > job.reported_arrivals;
  if (!unseen || job.report == ReportState::running) return std::nullopt;
  const Time due = first_due(job, deadlines);
  return job.failed_at ? std::max(due, *job.failed_at + deadlines.debounce) : due;
}

}  // namespace skewscope::gather
