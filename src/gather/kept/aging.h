// How old things are, by the time that the daemon has seen pass: a wall clock that jumps (a dead battery, a machine
// that was asleep, `date`, a wrong time server) makes nothing old, and for an hour after it nothing is deleted by age.
//
// Idea: next to the wall clock runs one that nobody sets (CLOCK_BOOTTIME). Where the wall clock gains minutes on it,
// that much is taken off the age of all that is older; where it falls back, jumps of before are taken back. Both, and
// what is left of the hour, are in the manifest, so that no start of the daemon or of the machine forgets them: the
// second clock goes on while no daemon runs, until the machine starts. Time across that counts as passed up to two
// days, and beyond as a jump. After a long absence, and where what was kept is lost, the hour is waited, too.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace skewscope::gather {

// Now, by the clock on the wall.
std::string utc_text(std::chrono::sys_seconds time);  // "2026-11-29T09:00:00Z"

inline std::chrono::sys_seconds wall_clock() {
  return std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
}

class Aging {
 public:
  using Time = std::chrono::sys_seconds;
  using Duration = std::chrono::seconds;

  struct Jump {
    Time at{};  // what changed until then was before it
    Duration length{};
  };
  // The state that one process leaves to the next.
  struct Seen {
    std::string boot;  // the kernel's name of the machine's start from which `running` counts
    Time wall{};
    Duration running{}, held{};  // held: for how long nothing was to be deleted
    std::vector<Jump> jumps;     // forward; the newest last
  };

  // The first look. `noted`: the newest moment that anybody has noted, where nothing was left.
  void begin(Time wall, Duration running, Time noted);
  void go_on(const Seen& seen, const std::string& boot, Time wall, Duration running);
  // Both clocks, at least once a minute. Has the wall clock jumped?
  bool look(Time wall, Duration running);
  // For an hour from now nothing is deleted.
  void hold();
  Seen seen(const std::string& boot) const;
  // For an hour after a jump, and after a beginning more than two days behind what was noted last, no.
  bool may_delete() const;
  // `now` of what has last changed then: the wall clock less the jumps since.
  Time now_for(Time changed) const;

 private:
  void add(const Jump& jump);
  void take_back(Duration length);

  Time wall_{};
  Duration running_{}, held_until_{};
  std::vector<Jump> jumps_;
};

}  // namespace skewscope::gather
