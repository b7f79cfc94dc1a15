// Wakes the agent when something may have come into its folders. What came, the next scan finds: so nothing is lost
// when the kernel's queue overflows, when a folder appears before it is watched, or on file systems that report
// nothing.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace skewscope::ship {

class Watcher {
 public:
  Watcher();
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Watches these folders and all below them but hidden ones; call before each scan.
  void watch(const std::vector<std::string>& folders);
  // True when something happened since the last call, at the latest after `longest`.
  bool wait(std::chrono::milliseconds longest);
  bool overflowed() const { return overflowed_; }  // at some time

 private:
  void add(const std::string& folder);

  int descriptor_;
  bool overflowed_ = false;
};

}  // namespace skewscope::ship
