#include "job_table.h"

#include <algorithm>

#include "skewscope/protocol/names.h"

namespace skewscope::gather {

const Job* JobTable::find(const std::string& name) const {
  const auto found = jobs_.find(name);
  return found == jobs_.end() ? nullptr : &found->second;
}

std::vector<const Job*> JobTable::runs_of(std::string_view name) const {
  std::vector<const Job*> runs;
  if (const Job* first = find(std::string(name))) runs.push_back(first);
  for (auto job = jobs_.upper_bound(run_of(name, 2).substr(0, name.size() + 1));
       job != jobs_.end() && name_of_run(job->first) == name; ++job) {
    runs.push_back(&job->second);
  }
  std::sort(runs.begin(), runs.end(),
            [](const Job* a, const Job* b) { return number_of_run(a->row.name) < number_of_run(b->row.name); });
  return runs;
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
    row.epoch = epoch_of(name);
    row.created = at;
    const std::vector<const Job*> runs = runs_of(name_of_run(name));
    for (const Job* run : runs) {
      if (run == &found->second) break;
      row.settings.deadline = run->row.settings.deadline;
      row.settings.retention = run->row.settings.retention;
      row.settings.owner_uid = run->row.settings.owner_uid;
      if (run->row.owner_uid != 0) row.owner_uid = run->row.owner_uid;
    }
  }
  return found->second;
}

void JobTable::remove(const std::string& name) {
  next_epochs_[std::string(name_of_run(name))] = epoch_of(name);
  jobs_.erase(name);
}

uint32_t JobTable::next_epoch(const std::string& name) const {
  const auto of = [&](const std::string& key) {
    const auto next = next_epochs_.find(key);
    return next == next_epochs_.end() ? 0 : next->second;
  };
  return std::max(of(name), of(""));
}

uint32_t JobTable::epoch_of(const std::string& name) const {
  const std::string first(name_of_run(name));
  const std::vector<const Job*> runs = runs_of(first);
  uint32_t epoch = next_epoch(first);
  for (const Job* run : runs) epoch = std::max(epoch, run->row.epoch);
  const bool all_go = std::all_of(runs.begin(), runs.end(), [](const Job* run) { return run->row.deleting; });
  return runs.empty() || !all_go ? epoch : epoch + 1;
}

uint32_t JobTable::owner_of_name(const std::string& name) const {
  const std::vector<const Job*> runs = runs_of(name_of_run(name));
  const auto owned = std::find_if(runs.rbegin(), runs.rend(), [](const Job* run) { return run->row.owner_uid != 0; });
  return owned == runs.rend() ? 0 : (*owned)->row.owner_uid;
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
