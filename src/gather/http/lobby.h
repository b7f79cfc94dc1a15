// Who is connected, and whether there is room for one more. From any thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "limits.h"

namespace skewscope::gather {

// A connection, as far as others may act on it; from any thread.
class Guest {
 public:
  virtual ~Guest() = default;
  virtual void end() = 0;       // at once
  virtual void end_idle() = 0;  // unless a request is being answered; it is then the last one
};

class Lobby {
 public:
  // `to_speak`: so long may_accept() gives a stranger to say who they are, where too many have come.
  explicit Lobby(const GatherLimits& limits, std::chrono::milliseconds to_speak = std::chrono::seconds(1))
      : limits_(limits), to_speak_(to_speak), slots_(limits) {}

  void use(const GatherLimits& limits);  // whoever is in stays

  struct Figures {
    int connections = 0, unauthenticated = 0, bodies = 0;
  };

  // A seat or a body's slot is given back when the last copy of it goes; null: there is none.
  using Slot = std::shared_ptr<void>;
  Slot seat(const std::string& address);
  // `then` gets the slot: at once, or on the thread that gives one back, first come first served within a job; null
  // after kLongestWait, by end_waits().
  static constexpr std::chrono::seconds kLongestWait{10};
  void body(const std::string& job, std::function<void(Slot)> then);
  void end_waits(Moment now);
  Slot download(const std::string& job);  // of a file that goes out
  // No while all seats are taken, and while too many strangers came just now, each from an address of its own or all
  // from one: they may be about to say who they are.
  bool may_accept() const;
  bool crowded() const;  // above 80 % of the seats: idle connections have to go sooner

  // Few bodies write at a time, and jobs take turns by bytes. `start` begins the write, here or on a thread that ends
  // its turn; whoever has written says so.
  void take_turn(const std::string& job, uint64_t bytes, std::function<void()> start);
  void end_turn();

  // The guest has not said who it is. When too many have not, one is ended: of the address that has most of them, so
  // that silent connections of a few addresses are in nobody else's way; or one that has been silent for long. False:
  // it is this one, its address has had its share and nobody has been silent for long.
  bool enter(const std::shared_ptr<Guest>& guest, const std::string& address);
  void greeted(const Guest* guest);  // its handshake is done
  void authenticated(const Guest* guest);
  void leave(const Guest* guest);
  void end_idle();
  void end_all();

  FailureThrottle::Verdict verdict(const std::string& address);
  void failed(const std::string& address);
  Figures figures() const;

 private:
  struct Entry {
    const Guest* key;
    std::weak_ptr<Guest> guest;
    Moment since;
    std::string address;
    bool greeted = false;
  };
  // Those who have not said who they are.
  struct Crowd {
    size_t addresses = 0;
    int most = 0;
    std::string_view address_of_most;
    std::unordered_map<std::string_view, int> by_address;
  };
  struct Wait {
    std::string job;
    Moment until;
    std::function<void(Slot)> then;
  };
  Crowd crowd() const;
  std::list<Entry>::iterator who_goes(const std::string& newcomer);
  bool has_had_time(const Entry& entry) const;
  std::list<Entry> copy_of_guests() const;
  Slot slot_of(const std::string& job);  // acquired before
  void give_back(const std::string& job);

  GatherLimits limits_;
  const std::chrono::milliseconds to_speak_;
  mutable std::mutex mutex_;
  Slots slots_;
  FailureThrottle throttle_;
  Turns turns_;
  int writing_ = 0;
  std::list<Entry> unknown_, known_;
  std::list<Wait> waits_;  // first come first
};

}  // namespace skewscope::gather
