// Who may take how much. Pure state with the time handed in: no clock, no socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "skewscope/gather.h"

namespace skewscope::gather {

using Moment = std::chrono::steady_clock::time_point;

// Failed authentications per address: more than 20 a minute -> an answer is held back 1 s, more than 40 -> 429. Least
// recently seen of 65,536 addresses are forgotten. The minute before the running one counts by the share that still
// lies within the last 60 s, as if its failures had been spread evenly.
class FailureThrottle {
 public:
  enum class Verdict { pass, delay, refuse };
  Verdict verdict(const std::string& address, Moment now);
  void failed(const std::string& address, Moment now);
  size_t addresses() const { return entries_.size(); }

 private:
  struct Entry {
    std::string address;
    Moment begin{};  // of the running minute
    int before = 0, within = 0;
  };
  static void advance(Entry& entry, Moment now);

  std::list<Entry> recent_;  // newest first
  std::unordered_map<std::string, std::list<Entry>::iterator> entries_;
};

// Answers that anybody may ask for again and again, who asks for little: so many at once, then so many a second, each
// asker for himself. Who asks for more waits, and is refused where that would be longer than kLongestWait.
class AnswerPace {
 public:
  static constexpr int kAtOnce = 256, kPerSecond = 50;
  static constexpr std::chrono::seconds kLongestWait{10};
  std::optional<std::chrono::milliseconds> wait(const std::string& asker, Moment now);
  size_t askers() const { return paid_until_.size(); }

 private:
  std::unordered_map<std::string, Moment> paid_until_;  // by the answers so far, at that speed
};

// Is a body arriving fast enough: at least `least_rate` over the last 30 s (since its start, while it is younger),
// after 10 s of grace; and not for longer than `longest` in all. Memory does not grow with the body.
class RateFloor {
 public:
  RateFloor(uint64_t bytes_per_s, Moment start, std::chrono::seconds longest = std::chrono::seconds::max())
      : least_(bytes_per_s), longest_(longest), start_(start) {}
  void received(uint64_t bytes, Moment now);
  // For this long we did not read: our time, not the sender's.
  void held_back(std::chrono::nanoseconds time);
  bool too_slow(Moment now) const;

 private:
  uint64_t least_;
  std::chrono::seconds longest_;
  Moment start_;
  std::deque<std::pair<Moment, uint64_t>> window_;  // bytes by second
};

// Jobs' shares of a bounded number of places. Once three quarters of all are taken, a job gets another only while it
// has fewer than an equal share: the last quarter is for jobs that have little.
class JobShares {
 public:
  bool acquire(const std::string& job, int most, int most_per_job);
  void release(const std::string& job);
  int taken() const { return taken_; }

 private:
  int taken_ = 0;
  std::unordered_map<std::string, int> by_job_;
};

// Connections, bodies and downloads in use; acquire says no when a bound would be passed. Only what was acquired is
// released.
class Slots {
 public:
  explicit Slots(const GatherLimits& limits) : limits_(limits) {}
  void use(const GatherLimits& limits) { limits_ = limits; }
  bool acquire_connection(const std::string& address);
  void release_connection(const std::string& address);
  bool acquire_body(const std::string& job);
  void release_body(const std::string& job) { bodies_.release(job); }
  bool acquire_download(const std::string& job);
  void release_download(const std::string& job) { downloads_.release(job); }
  int connections() const { return connections_; }
  int bodies() const { return bodies_.taken(); }

 private:
  GatherLimits limits_;
  int connections_ = 0;
  std::unordered_map<std::string, int> by_address_;
  JobShares bodies_, downloads_;
};

// Whose turn it is to write: deficit round robin (Shreedhar and Varghese 1995) over jobs, so that each job that has
// something waiting gets the same number of bytes, however many senders it has and however large their pieces are.
class Turns {
 public:
  // `start` is handed out by next(), once.
  void wait(const std::string& job, uint64_t bytes, std::function<void()> start);
  // Whose turn it is; an empty function when nobody waits.
  std::function<void()> next();
  size_t waiting() const { return waiting_; }

 private:
  struct Piece {
    uint64_t bytes = 0;
    std::function<void()> start;
  };
  struct Queue {
    uint64_t credit = 0;
    std::deque<Piece> pieces;
  };
  std::unordered_map<std::string, Queue> queues_;
  std::deque<std::string> round_;  // jobs with pieces; the first has the turn
  size_t waiting_ = 0;
};

}  // namespace skewscope::gather
