#include <algorithm>

#include "reports.h"

namespace skewscope::gather {
namespace {

constexpr size_t kMostDeletedAtOnce = 64;  // of a sweep: what is wrong with one is seen before the next

Time last_change(const JobState& job) { return std::max({job.created, job.last_byte, job.last_arrival, job.ended_at}); }

// A job that is registered and has sent nothing may still run: it is not gone sooner than the daemon's own age. Once it
// has ended, there is nothing to keep but its name, for those whose agents are late.
std::chrono::seconds kept_for(const JobState& job, const GatherRetention& retention) {
  constexpr std::chrono::hours kLateAgents{3 * 24};
  const std::chrono::seconds asked = job.settings.retention.value_or(retention.age);
  if (job.arrivals > 0) return asked;
  return job.ended ? std::min<std::chrono::seconds>(asked, kLateAgents) : std::max(asked, retention.age);
}

}  // namespace

bool is_over(const JobState& job) {
  const bool told =
      job.report == ReportState::complete || job.report == ReportState::partial || job.report == ReportState::failed;
  return (told || job.arrivals == 0) && job.open_uploads == 0 && job.arrivals == job.reported_arrivals;
}

std::vector<std::string> jobs_to_delete(const std::vector<JobState>& jobs, const GatherRetention& retention,
                                        const Aging& aging) {
  if (!aging.may_delete()) return {};
  std::vector<const JobState*> over;
  uint64_t bytes = 0;
  for (const JobState& job : jobs) {
    bytes += job.bytes + job.report_bytes;
    if (is_over(job)) over.push_back(&job);
  }
  std::stable_sort(over.begin(), over.end(),
                   [](const JobState* a, const JobState* b) { return last_change(*a) < last_change(*b); });
  std::vector<std::string> doomed;
  for (const JobState* job : over) {
    if (doomed.size() == kMostDeletedAtOnce) break;
    const bool old = aging.now_for(last_change(*job)) - last_change(*job) > kept_for(*job, retention);
    const bool too_much =
        retention.total_bytes > 0 && bytes > retention.total_bytes && job->bytes + job->report_bytes > 0;
    if (!old && !too_much) continue;
    doomed.push_back(job->name);
    bytes -= job->bytes + job->report_bytes;
  }
  return doomed;
}

}  // namespace skewscope::gather
