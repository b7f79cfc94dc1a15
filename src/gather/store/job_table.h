// The jobs that there are, by name, and the epochs that deleted ones leave behind. Part of Memory, so with its lock.
// Promise: the runs of a name share an epoch, the highest of theirs, which they keep or raise; once all have gone,
// another job of the name begins with a higher one than any before it. A later run begins with the owner, deadline and
// retention of the one before it.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job.h"

namespace skewscope::gather {

class JobTable {
 public:
  const Job* find(const std::string& name) const;
  Job* find(const std::string& name) { return const_cast<Job*>(std::as_const(*this).find(name)); }
  Job& at(const std::string& name) { return jobs_.at(name); }
  const Job& at(const std::string& name) const { return jobs_.at(name); }
  // NAME, NAME~2, ..., as far as they are there, the first one first.
  std::vector<const Job*> runs_of(std::string_view name) const;
  // Null also while it is being deleted.
  const Job* standing(const std::string& name) const;
  Job* standing(const std::string& name) { return const_cast<Job*>(std::as_const(*this).standing(name)); }
  const FileRow* file(const std::string& job, int capture, int rank) const;
  // In order of names.
  std::map<std::string, Job>& all() { return jobs_; }
  const std::map<std::string, Job>& all() const { return jobs_; }

  Job& make(const std::string& name, uint32_t owner_uid, Time at, bool& made);  // unless it is there
  void forget(const std::string& name) { jobs_.erase(name); }                   // one that never stood in the manifest
  void remove(const std::string& name);                                         // its tokens no longer count

  uint32_t epoch_of(const std::string& name) const;
  uint32_t next_epoch(const std::string& name) const;
  // Of all runs of its name: whose the newest is, as far as anybody said; 0: nobody did.
  uint32_t owner_of_name(const std::string& name) const;
  void put_next_epochs(std::map<std::string, uint32_t> epochs) { next_epochs_ = std::move(epochs); }

  // Counted again where that takes less than a twentieth of the time since it was last done, however often it is asked.
  const JobCounts& counts() const;

 private:
  JobCounts count() const;

  std::map<std::string, Job> jobs_;
  std::map<std::string, uint32_t> next_epochs_;  // of names whose job was deleted; "": of every name
  mutable JobCounts counts_;                     // as counted then
  mutable std::chrono::steady_clock::time_point counted_at_{};
  mutable std::chrono::steady_clock::duration counting_took_{};
};

}  // namespace skewscope::gather
