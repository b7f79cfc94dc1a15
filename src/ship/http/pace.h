// Bytes per second, shared by all uploads of the agent.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace skewscope::ship {

class Pace {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  explicit Pace(uint64_t bytes_per_s) : rate_(bytes_per_s) {}  // 0: no bound

  // How long to wait before `bytes` may go. Up to a tenth of a second of silence is saved up, no more.
  std::chrono::nanoseconds book(uint64_t bytes, Moment now);
  // Bytes that are booked at a time, so that no wait is long.
  uint64_t portion() const;

 private:
  std::mutex mutex_;
  uint64_t rate_;
  Moment free_{};  // when all that was booked has gone
};

}  // namespace skewscope::ship
