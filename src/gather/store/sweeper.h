// What time does: uploads expire, quarantine and trash go, the disk's figures are looked at, the manifest is copied
// once a day. Owns its thread and what it noted of the clocks and of the last copy; that thread alone reaches them.
// Promise: nothing is deleted by age that the clocks of Aging do not show to be old.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "quarantine.h"
#include "uploads.h"

namespace skewscope::gather {

class Sweeper {
 public:
  Sweeper(Core& core, Uploads& uploads, Quarantine& quarantine)
      : core_(core), engine_(core.engine), files_(core.files), uploads_(uploads), quarantine_(quarantine) {}

  void start(Time last_backup);
  void stop();
  bool advances() { return pulse_.advanced(); }

 private:
  void serve();
  void sweep();
  bool look_at_clocks();
  void keep_clocks();
  void forget_the_future();
  void empty_trash();
  bool is_kept_in_trash(const std::string& name);
  void remove_tree(const std::string& path, bool folder, int& left);
  void back_up();
  void copy_manifest(Manifest& manifest, Time at, bool deletes);

  Core& core_;
  Engine& engine_;
  FileSystem& files_;
  Uploads& uploads_;
  Quarantine& quarantine_;
  std::optional<std::chrono::seconds> clocks_kept_;  // running() when they last were, by this process
  Time last_backup_{};
  Pulse pulse_;
  std::mutex mutex_;
  std::condition_variable wanted_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace skewscope::gather
