// Disk that the manifest can have when there is none left. While it is out nothing takes any that was not reserved
// before: what was promised needs rows. Any thread may call.
#pragma once

#include <atomic>
#include <mutex>

#include "src/gather/disk/file_system.h"

namespace skewscope::gather {

class Ballast {
 public:
  explicit Ballast(FileSystem& files) : files_(files) {}

  void refill();
  bool is_there();   // or can be got back: somebody may have made room just now
  bool give_away();  // false: it was not there

 private:
  FileSystem& files_;
  std::mutex mutex_;
  std::atomic<bool> there_ = false;
};

}  // namespace skewscope::gather
