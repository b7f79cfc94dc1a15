// A thread's sign of life: it says when it has work and when a step of it is done. A thread that has work and takes no
// step hangs.
#pragma once

#include <atomic>
#include <cstdint>

namespace skewscope::gather {

class Pulse {
 public:
  // While it lives, its thread has work.
  class Work {
   public:
    explicit Work(Pulse& pulse) : pulse_(pulse), before_(here()) {
      here() = &pulse_;
      ++pulse_.steps_;
      pulse_.busy_ = true;
    }
    ~Work() {
      here() = before_;
      pulse_.busy_ = false;
    }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    Pulse& pulse_;
    Pulse* before_;
  };

  // A step of this thread's work is done; for loops that may take longer than a watchdog waits.
  static void beat_here() {
    if (here() != nullptr) ++here()->steps_;
  }

  // Idle, or further than when this was asked before. One asker.
  bool advanced() {
    const uint64_t steps = steps_;
    const bool stands = busy_ && steps == seen_;
    seen_ = steps;
    return !stands;
  }

 private:
  static Pulse*& here() {
    static thread_local Pulse* pulse = nullptr;
    return pulse;
  }
  std::atomic<uint64_t> steps_ = 0;
  std::atomic<bool> busy_ = false;
  uint64_t seen_ = 0;
};

}  // namespace skewscope::gather
