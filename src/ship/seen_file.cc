#include "seen_file.h"

#include <algorithm>

namespace skewscope::ship {

void Seen::settle(const Delivery& delivery, bool once, bool held) {
  using End = Delivery::End;
  const auto now = std::chrono::steady_clock::now();
  const bool cannot_be_read = delivery.end == End::unreadable;
  if (cannot_be_read && !unreadable) since = now;  // patience begins
  at_work = false;
  rank = std::max(rank, delivery.rank);
  spooled = (cannot_be_read || delivery.end == End::waits) && held;
  reason = delivery.reason;
  unreadable = cannot_be_read ? std::optional(now) : std::nullopt;
  switch (delivery.end) {
    case End::accepted:
      state = State::accepted;
      return;
    case End::unfinished:
      state = once ? State::left : State::unfinished;
      return;
    case End::waits:
      state = State::waiting;
      return;
    case End::not_now:
    case End::unreadable:
      state = State::watched;
      return;
    case End::bad:
      state = State::bad;
      return;
    case End::left:
      state = State::left;
      return;
    case End::stopped:
      return;
  }
}

}  // namespace skewscope::ship
