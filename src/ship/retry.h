// What to do after an answer, and how long to wait before: section "Retry" of README.md. Pure: no clock, no socket.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace skewscope::ship {

enum class Advice {
  go_on,       // it was done
  resync,      // ask for the offset, go on there
  start_over,  // the upload is gone: make another
  wait,        // the same again, later
  refuse,      // never again
};

enum class About { creation, upload };

// `status`: of HTTP; 0: no whole answer came.
Advice advise(int status, About about);
// The token is wrong or has expired, or is of another job (404 of a creation): another one may take its place.
bool is_about_token(int status, About about);

inline constexpr std::chrono::milliseconds kFirstWait{500}, kLongestWait{60'000};
inline constexpr std::chrono::seconds kNoSpaceWait{300}, kLongestRetryAfter{3600};

// Since when nobody of an agent has got any further. From any thread.
class Outage {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  // A failure: since when it is one of several without progress.
  Moment failed(Moment now) {
    const std::lock_guard lock(mutex_);
    if (!since_) since_ = now;
    return *since_;
  }
  // Whether `trouble` was not the last reported since then.
  bool is_news(const std::string& trouble) {
    const std::lock_guard lock(mutex_);
    return std::exchange(told_, trouble) != trouble;
  }
  void over() {
    const std::lock_guard lock(mutex_);
    since_.reset();
    told_.clear();
  }

 private:
  std::mutex mutex_;
  std::optional<Moment> since_;
  std::string told_;
};

// Waits between failures: random in 0 .. min(60 s, 0.5 s * 2^n) after the n-th in a row, so that agents that lost one
// gatherer at one moment do not come back at one moment. At least what Retry-After asks for; 5 min when its disk is
// full and it says nothing.
class Backoff {
 public:
  // `random`: uniform in [0, 1).
  explicit Backoff(std::function<double()> random) : random_(std::move(random)) {}
  std::chrono::milliseconds failed(int status, std::optional<std::chrono::seconds> retry_after);
  void progressed() { failures_ = 0; }

 private:
  std::function<double()> random_;
  int failures_ = 0;
};

}  // namespace skewscope::ship
