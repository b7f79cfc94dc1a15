// How old things are, by the time that the daemon has seen pass: a wall clock that jumps (a dead battery, a machine
// that was asleep, `date`, a wrong time server) makes nothing old, and for an hour after it nothing is deleted by age.
//
// Idea: beside the wall clock runs one that nobody sets (CLOCK_BOOTTIME). Where the wall clock gains minutes on it,
// that much is taken off the age of all that is older; where it falls back, jumps of before are taken back. Jumps are
// forgotten with the process, and time while no daemon ran counts as passed: after a long absence the hour is waited,
// too.
#pragma once

#include <chrono>
#include <vector>

namespace skewscope::gather {

class Aging {
 public:
  using Time = std::chrono::sys_seconds;
  using Duration = std::chrono::seconds;

  // Both clocks, at least once a minute. `seen`: the newest moment that anybody has noted, of the first look.
  void begin(Time wall, Duration running, Time seen);
  void look(Time wall, Duration running);
  // For an hour after a jump, and after a beginning more than two days behind what was noted last, no.
  bool may_delete() const;
  // `now` of what has last changed then: the wall clock less the jumps since.
  Time now_for(Time changed) const;

 private:
  struct Jump {
    Time at{};  // before it
    Duration length{};
  };
  void take_back(Duration length);

  Time wall_{};
  Duration running_{}, held_until_{};
  std::vector<Jump> jumps_;  // forward; the newest last
};

}  // namespace skewscope::gather
