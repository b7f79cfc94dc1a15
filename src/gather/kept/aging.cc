#include "aging.h"

#include <fmt/chrono.h>

#include <algorithm>

namespace skewscope::gather {
namespace {

constexpr std::chrono::minutes kLeastJump{5};
constexpr std::chrono::hours kHold{1}, kLongAbsence{48};
constexpr size_t kMostJumps = 32;

}  // namespace

std::string utc_text(std::chrono::sys_seconds time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

void Aging::begin(Time wall, Duration running, Time noted) {
  wall_ = wall;
  running_ = running;
  const bool long_absent = noted > Time() && wall - noted > kLongAbsence;
  held_until_ = long_absent ? running + kHold : running;
}

void Aging::go_on(const Seen& seen, const std::string& boot, Time wall, Duration running) {
  jumps_ = seen.jumps;
  const Duration away = wall - seen.wall;
  if (!boot.empty() && boot == seen.boot && running >= seen.running) {
    wall_ = seen.wall;
    running_ = seen.running;
    held_until_ = seen.running + seen.held;
    look(wall, running);
  } else {
    wall_ = wall;
    running_ = running;
    held_until_ = running + seen.held;
    if (away > kLongAbsence) add({wall, away});
    if (away <= -kLeastJump) {
      take_back(-away);
      hold();
    }
  }
  if (away > kLongAbsence) hold();
}

bool Aging::look(Time wall, Duration running) {
  const Duration passed = running - running_, gained = (wall - wall_) - passed;
  const Time unmoved = wall_ + passed;
  wall_ = wall;
  running_ = running;
  if (gained < kLeastJump && gained > -kLeastJump) return false;
  if (gained > Duration(0)) add({unmoved, gained});
  if (gained < Duration(0)) take_back(-gained);
  hold();
  return true;
}

void Aging::hold() { held_until_ = running_ + kHold; }

Aging::Seen Aging::seen(const std::string& boot) const {
  return {boot, wall_, running_, std::max(held_until_ - running_, Duration(0)), jumps_};
}

bool Aging::may_delete() const { return running_ >= held_until_; }

Aging::Time Aging::now_for(Time changed) const {
  Time now = wall_;
  for (const Jump& jump : jumps_) {
    if (changed <= jump.at) now -= jump.length;
  }
  return now;
}

// The two oldest of very many become one: what lies between them counts as before both.
void Aging::add(const Jump& jump) {
  jumps_.push_back(jump);
  if (jumps_.size() <= kMostJumps) return;
  jumps_[1].length += jumps_[0].length;
  jumps_.erase(jumps_.begin());
}

void Aging::take_back(Duration length) {
  while (length > Duration(0) && !jumps_.empty()) {
    const Duration taken = std::min(length, jumps_.back().length);
    jumps_.back().length -= taken;
    length -= taken;
    if (jumps_.back().length == Duration(0)) jumps_.pop_back();
  }
}

}  // namespace skewscope::gather
