// Who may take how much. Pure state with the time handed in: no clock, no socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "skewscope/gather.h"

namespace skewscope::gather {

using Moment = std::chrono::steady_clock::time_point;

// Failed authentications per address: more than 20 a minute -> an answer is held back 1 s, more than 40 -> 429. Least
// recently seen of 65,536 addresses are forgotten.
class FailureThrottle {
 public:
  enum class Verdict { pass, delay, refuse };
  Verdict verdict(const std::string& address, Moment now);
  void failed(const std::string& address, Moment now);

 private:
  struct Entry {
    std::string address;
    double tokens = 0;
    Moment last{};
  };
  std::list<Entry> recent_;
  std::unordered_map<std::string, std::list<Entry>::iterator> entries_;
};

// Is a body arriving fast enough: at least `least_rate` over the last 30 s, after 10 s of grace.
class RateFloor {
 public:
  RateFloor(uint64_t bytes_per_s, Moment start) : least_(bytes_per_s), start_(start) {}
  void received(uint64_t bytes, Moment now);
  bool too_slow(Moment now) const;

 private:
  uint64_t least_;
  Moment start_;
  std::deque<std::pair<Moment, uint64_t>> window_;
};

// Connections and bodies in use; acquire says no when a bound would be passed.
class Slots {
 public:
  explicit Slots(const GatherLimits& limits) : limits_(limits) {}
  bool acquire_connection(const std::string& address);
  void release_connection(const std::string& address);
  bool acquire_body(const std::string& job);
  void release_body(const std::string& job);
  int connections() const { return connections_; }
  int bodies() const { return bodies_; }

 private:
  GatherLimits limits_;
  int connections_ = 0, bodies_ = 0;
  std::unordered_map<std::string, int> by_address_, by_job_;
};

}  // namespace skewscope::gather
