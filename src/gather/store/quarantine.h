// What was set aside (damaged, replaced and stray files) is kept for whoever looks into it, within bounds of age and
// bytes: the oldest goes first, of the owner who has most there. It is charged to its job and to the job's owner.
// Owns when it was last looked at; swept by one thread. Promise: nothing goes that may have to come back.
#pragma once

#include "core.h"

namespace skewscope::gather {

class Quarantine {
 public:
  explicit Quarantine(Core& core) : core_(core), engine_(core.engine), files_(core.files) {}

  void charge_all();  // what lies there at the start
  void sweep();

 private:
  struct SetAside {
    std::string folder, name;  // of quarantine/: a job, or a name that begins with a dot
    uint64_t bytes = 0;
    Time since{};

    std::string path() const { return quarantine_folder(folder) + "/" + name; }
  };
  class Kept;

  std::vector<SetAside> list();
  std::string owner_of_folder(const std::string& folder) const;
  bool is_needed(const std::string& name) const;
  void remove(std::vector<SetAside> doomed);

  Core& core_;
  Engine& engine_;
  FileSystem& files_;
  Time last_look_{};
};

}  // namespace skewscope::gather
