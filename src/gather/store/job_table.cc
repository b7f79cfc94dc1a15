#include "job_table.h"

#include <algorithm>

namespace skewscope::gather {

const Job* JobTable::find(const std::string& name) const {
  const auto found = jobs_.find(name);
  return found == jobs_.end() ? nullptr : &found->second;
}

const Job* JobTable::standing(const std::string& name) const {
  const Job* job = find(name);
  return job == nullptr || job->row.deleting ? nullptr : job;
}

const FileRow* JobTable::file(const std::string& name, int capture, int rank) const {
  const Job* job = find(name);
  if (job == nullptr) return nullptr;
  const auto files = job->files.find(capture);
  if (files == job->files.end()) return nullptr;
  const auto file = files->second.find(rank);
  return file == files->second.end() ? nullptr : &file->second;
}

Job& JobTable::make(const std::string& name, uint32_t owner_uid, Time at, bool& made) {
  const auto [found, inserted] = jobs_.try_emplace(name);
  made = inserted;
  if (inserted) {
    JobRow& row = found->second.row;
    row.name = name;
    row.owner_uid = owner_uid;
    row.epoch = next_epoch(name);
    row.created = at;
  }
  return found->second;
}

void JobTable::remove(const std::string& name) {
  const auto job = jobs_.find(name);
  next_epochs_[name] = job->second.row.epoch + 1;
  jobs_.erase(job);
}

uint32_t JobTable::next_epoch(const std::string& name) const {
  const auto of = [&](const std::string& key) {
    const auto next = next_epochs_.find(key);
    return next == next_epochs_.end() ? 0 : next->second;
  };
  return std::max(of(name), of(""));
}

uint32_t JobTable::epoch_of(const std::string& name) const {
  const Job* job = find(name);
  return job == nullptr ? next_epoch(name) : job->row.epoch + (job->row.deleting ? 1 : 0);
}

// Copies no names and no settings: it is asked at each scrape, under the lock.
JobCounts JobTable::count() const {
  JobCounts out;
  for (const auto& [name, job] : jobs_) {
    if (job.row.arrivals == 0 && job.open_uploads == 0) continue;
    const int64_t arrived = ranks_arrived(job),
                  expected = int64_t{expected_of(job, job.row)} * captures_of(job, job.row);
    const bool whole = expected > 0 && arrived >= expected;
    ++(whole ? out.complete : job.row.ended ? out.ended : out.receiving);
    out.files_expected += expected;
    out.ranks_arrived += arrived;
  }
  return out;
}

const JobCounts& JobTable::counts() const {
  const auto begin = std::chrono::steady_clock::now();
  if (begin - counted_at_ < 20 * counting_took_) return counts_;
  counts_ = count();
  counted_at_ = std::chrono::steady_clock::now();
  counting_took_ = counted_at_ - begin;
  return counts_;
}

}  // namespace skewscope::gather
