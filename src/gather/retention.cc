#include <algorithm>

#include "reports.h"

namespace skewscope::gather {
namespace {

bool is_over(const JobState& job) {
  const bool told =
      job.report == ReportState::complete || job.report == ReportState::partial || job.report == ReportState::failed;
  return told && job.open_uploads == 0 && job.arrivals == job.reported_arrivals;
}

Time last_change(const JobState& job) { return std::max({job.created, job.last_byte, job.last_arrival}); }

}  // namespace

std::vector<std::string> jobs_to_delete(const std::vector<JobState>& jobs, const GatherRetention& retention, Time now) {
  std::vector<const JobState*> over;
  uint64_t bytes = 0;
  for (const JobState& job : jobs) {
    bytes += job.bytes;
    if (is_over(job)) over.push_back(&job);
  }
  std::stable_sort(over.begin(), over.end(),
                   [](const JobState* a, const JobState* b) { return last_change(*a) < last_change(*b); });
  std::vector<std::string> doomed;
  for (const JobState* job : over) {
    const bool old = now - last_change(*job) > job->settings.retention.value_or(retention.age);
    const bool too_much = retention.total_bytes > 0 && bytes > retention.total_bytes;
    if (!old && !too_much) continue;
    doomed.push_back(job->name);
    bytes -= job->bytes;
  }
  return doomed;
}

}  // namespace skewscope::gather
