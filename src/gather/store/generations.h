// The reports of jobs: generations that are begun, ended, read and discarded. Owns nothing of its own: what is known of
// them is in Memory. Who makes them is src/gather/reports.
// Promise: a report that a reply names is whole on the disk, and `current` names the newest that can be read.
#pragma once

#include "core.h"

namespace skewscope::gather {

class Reports {
 public:
  explicit Reports(Core& core) : core_(core), engine_(core.engine), files_(core.files) {}

  // Calls of Store.
  void begin(const std::string& name, Reply<Store::ReportFolders> done);
  void end(const std::string& name, int generation, int exit_code, Reply<JobState> done);
  Outcome<StoredFile> read(const std::string& name, int generation, const std::string& file) const;
  std::vector<Store::ReportFile> files(const std::string& name) const;
  std::vector<int> captures(const std::string& name) const;

 private:
  struct Begun;
  struct Ended {
    std::string job;
    ReportRow row;
    uint64_t room = 0;
  };

  std::string newest_folder(const std::string& name) const;
  Refusal prepare(Begun& begun, FoldersToFlush& folders);
  void settle(const Begun& begun);
  Refusal take_running(Ended& ended);
  void put(Ended ended, const Reply<JobState>& done);
  Refusal flush(const std::string& folder, int depth, uint64_t& bytes);
  int flush_file(const std::string& path, uint64_t& bytes);
  void post(const std::string& name, const ReportRow& row, bool swap, const Reply<JobState>& done);
  Refusal swap_current(const std::string& name, int generation, FoldersToFlush& folders);
  JobState settle(const std::string& name, const ReportRow& row, Refusal refusal);
  Refusal discard_unfinished(const std::string& name, int generation, FoldersToFlush& folders);
  void discard_old(const std::string& name);
  std::vector<int> old_generations(const std::string& name) const;

  Core& core_;
  Engine& engine_;
  FileSystem& files_;
};

}  // namespace skewscope::gather
