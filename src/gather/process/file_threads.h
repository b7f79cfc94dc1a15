// The threads that write, flush and hash, and those that read what goes out. Work on one thing always goes to the same
// thread, in order. By hand: a pool of Asio does not say which of its threads hangs.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "pulse.h"

namespace skewscope::gather {

class FileThreads {
 public:
  explicit FileThreads(int count);
  ~FileThreads() { stop(); }
  void stop();  // what was posted is done first; what is posted after it is dropped

  void post(size_t hash, std::function<void()> task);
  bool advance();  // none hangs: Pulse::advanced() of each

 private:
  struct Lane {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
    bool closing = false, stopped = false;
    Pulse pulse;
    std::thread thread;
  };
  static void serve(Lane& lane);

  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace skewscope::gather
