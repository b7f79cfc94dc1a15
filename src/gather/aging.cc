#include "aging.h"

#include <algorithm>

namespace skewscope::gather {
namespace {

constexpr std::chrono::minutes kLeastJump{5};
constexpr std::chrono::hours kHold{1}, kLongAbsence{48};

}  // namespace

void Aging::begin(Time wall, Duration running, Time seen) {
  wall_ = wall;
  running_ = running;
  const bool long_absent = seen > Time() && wall - seen > kLongAbsence;
  held_until_ = long_absent ? running + kHold : running;
}

void Aging::look(Time wall, Duration running) {
  const Duration gained = (wall - wall_) - (running - running_);
  if (gained >= kLeastJump || gained <= -kLeastJump) {
    if (gained > Duration(0)) jumps_.push_back({wall_, gained});
    if (gained < Duration(0)) take_back(-gained);
    held_until_ = running + kHold;
  }
  wall_ = wall;
  running_ = running;
}

bool Aging::may_delete() const { return running_ >= held_until_; }

Aging::Time Aging::now_for(Time changed) const {
  Time now = wall_;
  for (const Jump& jump : jumps_) {
    if (changed <= jump.at) now -= jump.length;
  }
  return now;
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
