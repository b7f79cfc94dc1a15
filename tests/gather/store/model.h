// What a sender was told, and what must therefore be true after any loss of power: the history checker of the store.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "memory_disk.h"
#include "spool.h"

namespace skewscope::gather::test {

// One line of a script.
struct Step {
  enum Kind {
    put,
    put_again,
    replace,
    create,
    append,
    append_checked,
    append_broken,
    remove,
    settings,
    delete_job,
    report
  };
  Kind kind = put;
  std::string job = "train";
  int rank = 0;              // of the file or of the upload
  size_t bytes = 0;          // to send
  bool one_request = false;  // put, replace: as the daemon's PUT
};

class Model {
 public:
  // Runs `script` until the disk has no power any more.
  void run(Store& store, MemoryDisk& disk, const std::vector<Step>& script);
  // What `store`, opened on what survived, breaks of what was told; each open upload is sent to its end.
  std::vector<std::string> broken_promises(Store& store) const;

 private:
  using Key = std::pair<std::string, int>;  // job, rank
  struct Sending {
    Key key;
    std::string content, id;
    uint64_t told = 0;      // the offset
    bool may_go = false;    // its removal, or its job's, was asked for
    bool complete = false;  // told so
  };
  struct Kept {
    std::string told;  // complete; "" with told_any false
    bool told_any = false;
    std::set<std::string> sent;  // what may be there
  };

  void put(Asking& ask, const Step& step, bool replace, bool same);
  void create(Asking& ask, const Step& step);
  void append(Asking& ask, const Step& step);
  void remove(Asking& ask, const Step& step);
  void settings(Asking& ask, const Step& step);
  void delete_job(Asking& ask, const Step& step);
  void report(Asking& ask, MemoryDisk& disk, const Step& step);
  void arrived(const Key& key, const std::string& content);
  std::string content_for(const Key& key, size_t bytes);
  void check_upload(Store& store, const Sending& sending, std::vector<std::string>& broken) const;
  void check_file(Store& store, const Key& key, const Kept& kept, std::vector<std::string>& broken) const;

  std::vector<Sending> sendings_;
  std::map<Key, Kept> kept_;
  std::map<std::string, int> world_sizes_, reports_;
  std::map<std::string, std::set<int>> wanted_world_sizes_;
  std::set<std::string> may_go_;  // jobs whose deletion was asked for
  int sent_ = 0;
};

// Open, run, lose the power at `step`, and again `in_recovery` steps into the start that follows (0: not), open, check.
struct Crash {
  uint64_t step = 0;  // 0: after the last answer
  Survives survives = Survives::nothing;
  uint32_t seed = 1;
  uint64_t in_recovery = 0;
  Flush ignored = Flush::none;
};
struct CrashResult {
  std::vector<std::string> broken;
  uint64_t steps = 0;  // that the script took
};
CrashResult crash(const std::vector<Step>& script, const Crash& crash);

StoreOptions memory_options(MemoryDisk& disk);

}  // namespace skewscope::gather::test
