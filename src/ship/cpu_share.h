// The agent takes what training leaves: the lowest priority, and seconds of a processor, shared by all threads of the
// agent and the process that makes its digests.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>

namespace skewscope::ship {

// Lowest priority for processor and disk, of this thread and those it starts.
void become_gentle();

class CpuShare {
 public:
  using Nanoseconds = std::chrono::nanoseconds;
  using Moment = std::chrono::steady_clock::time_point;

  // `share` of one processor on average; 0: no bound.
  explicit CpuShare(double share) : share_(share) {}

  // Between blocks of work: sleeps until what was used is within the share again. `used_elsewhere`: by another process,
  // since this was called last. False as soon as `go_on` says so.
  bool rest(const std::function<bool()>& go_on, Nanoseconds used_elsewhere = Nanoseconds(0));

  // How long to rest after `used` in all: nothing, or 20 ms and more, for waking takes some of the share itself. A
  // tenth of a second of idleness is saved up, no more.
  Nanoseconds due(Nanoseconds used, Moment now);

 private:
  const double share_;
  std::mutex mutex_;
  Nanoseconds elsewhere_{0}, used_{0}, credit_{0};
  Moment asked_{};
};

}  // namespace skewscope::ship
