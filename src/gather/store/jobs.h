// Jobs: their settings, their end, their removal, and the files that they have. Owns nothing of its own: what is known
// of jobs is in Memory.
// Promise: a reply names what is in the manifest. A job that is being deleted takes nothing in, and is gone from
// memory only when its row is gone and its files lie in trash/.
#pragma once

#include "uploads.h"

namespace skewscope::gather {

class Jobs {
 public:
  Jobs(Core& core, Uploads& uploads) : core_(core), engine_(core.engine), uploads_(uploads) {}

  // Calls of Store.
  void put(const std::string& name, const JobSettings& settings, Reply<JobState> done);
  void end(const std::string& name, Reply<JobState> done);
  void report_again(const std::string& name, Reply<JobState> done);
  void raise_epoch(const std::string& name, Reply<JobState> done);
  void remove(const std::string& name, const std::string& who, const std::function<bool(const JobState&)>& holds,
              Reply<Done> done);
  std::optional<JobState> state(const std::string& name) const;
  std::optional<JobState> brief_state(const std::string& name) const;
  std::vector<JobState> list(const std::string& after, size_t limit) const;
  std::vector<std::string> runs(const std::string& name) const;
  std::vector<RunFacts> run_facts(const UploadMetadata& file) const;
  Outcome<StoredFile> read(const std::string& name, int capture, int rank) const;

 private:
  struct Wanted {
    std::function<void(JobRow&)> change;
    bool make = false;           // where there is none yet
    bool reports_again = false;  // what the newest report knows counts as not known
    uint32_t sender_uid = 0;     // who owns it where it is made
  };
  struct Changed;

  void change(const std::string& name, Wanted wanted, Reply<JobState> done);
  Refusal prepare(Changed& changed) const;
  JobState settle(const Changed& changed);
  static JobState brief_state(const Memory& memory, const Job& job, Time at);
  void trash(const std::string& name, const std::string& who, const std::vector<UploadPointer>& uploads,
             const Reply<Done>& done);
  Refusal move_to_trash(const std::string& name, const std::vector<UploadPointer>& uploads, FoldersToFlush& folders);
  std::string contents_of(const std::string& name) const;

  Core& core_;
  Engine& engine_;
  Uploads& uploads_;
};

}  // namespace skewscope::gather
