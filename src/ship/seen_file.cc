#include "seen_file.h"

#include <algorithm>

namespace skewscope::ship {

void Seen::settle(const Delivery& delivery, bool once, bool held) {
  using Outcome = Delivery::End;
  const auto now = std::chrono::steady_clock::now();
  const bool cannot_be_read = delivery.end == Outcome::unreadable;
  if (cannot_be_read && !unreadable) since = now;  // patience begins
  at_work = false;
  rank = std::max(rank, delivery.rank);
  spooled = (cannot_be_read || delivery.end == Outcome::waits) && held;
  reason = delivery.reason;
  unreadable = cannot_be_read ? std::optional(now) : std::nullopt;
  switch (delivery.end) {
    case Outcome::accepted:
      state = State::accepted;
      return;
    case Outcome::unfinished:
      state = once ? State::left : State::unfinished;
      return;
    case Outcome::waits:
      state = State::waiting;
      return;
    case Outcome::not_now:
    case Outcome::unreadable:
      state = State::watched;
      return;
    case Outcome::bad:
      state = State::bad;
      return;
    case Outcome::left:
      state = State::left;
      return;
    case Outcome::stopped:
      return;
  }
}

}  // namespace skewscope::ship
