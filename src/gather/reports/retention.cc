#include <algorithm>
#include <deque>
#include <map>

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

uint64_t size_of(const JobState& job) { return job.bytes + job.report_bytes; }

// The jobs of one owner; those whose owner nobody named are one.
struct Share {
  uint64_t bytes = 0;
  std::deque<const JobState*> over;  // what may go, the oldest first
};

}  // namespace

bool is_over(const JobState& job) {
  const bool reported =
      job.report == ReportState::complete || job.report == ReportState::partial || job.report == ReportState::failed;
  return (reported || job.arrivals == 0) && job.open_uploads == 0 && job.arrivals == job.reported_arrivals;
}

std::vector<std::string> jobs_to_delete(const std::vector<JobState>& jobs, const GatherRetention& retention,
                                        const Aging& aging) {
  if (!aging.may_delete()) return {};
  std::vector<const JobState*> over;
  std::map<uint32_t, Share> owners;
  uint64_t bytes = 0;
  for (const JobState& job : jobs) {
    bytes += size_of(job);
    owners[job.owner_uid].bytes += size_of(job);
    if (is_over(job)) over.push_back(&job);
  }
  std::stable_sort(over.begin(), over.end(),
                   [](const JobState* a, const JobState* b) { return last_change(*a) < last_change(*b); });
  std::vector<std::string> doomed;
  const auto doom = [&](const JobState& job) {
    doomed.push_back(job.name);
    bytes -= size_of(job);
    owners[job.owner_uid].bytes -= size_of(job);
  };
  for (const JobState* job : over) {
    const bool old = aging.now_for(last_change(*job)) - last_change(*job) > kept_for(*job, retention);
    if (old && doomed.size() < kMostDeletedAtOnce) doom(*job);
    if (!old && size_of(*job) > 0) owners[job->owner_uid].over.push_back(job);
  }
  // Above the total, the owner who has most makes room: nobody's jobs go because of what another sends.
  while (retention.total_bytes > 0 && bytes > retention.total_bytes && doomed.size() < kMostDeletedAtOnce) {
    const auto most = std::max_element(owners.begin(), owners.end(), [](const auto& a, const auto& b) {
      return std::pair(!a.second.over.empty(), a.second.bytes) < std::pair(!b.second.over.empty(), b.second.bytes);
    });
    if (most == owners.end() || most->second.over.empty()) break;
    doom(*most->second.over.front());
    most->second.over.pop_front();
  }
  return doomed;
}

}  // namespace skewscope::gather
