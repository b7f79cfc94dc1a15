// Messages about reports that are to be delivered to a receiver elsewhere, and which reports have been told of.
//
// In the history's database: a message that was added outlives a restart, and of one report there is one message,
// however often it is added. A row without a body is a message that needs no delivery any more. What a crash kept from
// being added is found by the first look at all jobs after a start: reports since `since` without a row. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "src/gather/kept/store.h"

struct sqlite3;

namespace skewscope::gather {

struct Delivery {
  std::string job;
  Time created{};  // of the job
  int generation = 0;
  std::string id;    // the same at each try
  std::string body;  // "": nothing is to be delivered of this report
  Time queued{};
  int tries = 0;
};

constexpr size_t kMostDeliveries = 10'000;  // that wait: of more, the oldest is dropped

class Deliveries {
 public:
  // `mutex`: of the database.
  Deliveries(sqlite3* database, std::mutex& mutex) : database_(database), mutex_(mutex) {}

  // Since when reports are told of: `now` where none were before. Without `wanted`: none are from now on, and what
  // waits is dropped.
  Time since(bool wanted, Time now);
  bool has(const std::string& job, Time created, int generation) const;
  // Nothing, where its report has a row. Its first try is due at once.
  void add(const Delivery& delivery);
  // The one that is due longest. One that is due later than `latest` was put off by a clock that was wrong: it is due.
  std::optional<Delivery> next(Time now, Time latest) const;
  // False: it could not be noted, as on a full disk, and next() gives it again.
  bool delivered(const Delivery& delivery);
  bool drop(const Delivery& delivery);
  bool try_again(const Delivery& delivery, Time due);
  // Which reports of before were told of. What waits stays.
  void forget(Time before);

  struct Figures {
    uint64_t waiting = 0, delivered = 0, dropped = 0, failed_tries = 0;  // but for the first, since the start
  };
  Figures figures() const;

 private:
  bool close(const Delivery& delivery);
  uint64_t waiting() const;

  sqlite3* database_;
  std::mutex& mutex_;
  std::atomic<uint64_t> delivered_{0}, dropped_{0}, failed_tries_{0};
};

}  // namespace skewscope::gather
