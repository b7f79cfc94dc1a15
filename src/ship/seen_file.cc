#include "seen_file.h"

#include <algorithm>
#include <utility>

namespace skewscope::ship {

void Seen::settle(const Delivery& delivery, const ShipOptions& options, bool held) {
  using Outcome = Delivery::End;
  const auto now = std::chrono::steady_clock::now();
  const bool cannot_be_read = delivery.end == Outcome::unreadable;
  if (cannot_be_read && !unreadable) since = now;  // patience begins
  at_work = false;
  rank = std::max(rank, delivery.rank);
  const bool comes_again = delivery.end == Outcome::waits || delivery.end == Outcome::later;
  spooled = (cannot_be_read || comes_again) && held;
  not_before = now + delivery.again_in;
  reason = delivery.reason;
  unreadable = cannot_be_read ? std::optional(now) : std::nullopt;
  switch (delivery.end) {
    case Outcome::accepted:
      state = State::accepted;
      return;
    case Outcome::unfinished:
      state = options.once ? State::left : State::unfinished;
      return;
    case Outcome::waits:
      state = State::waiting;
      return;
    case Outcome::later:
      state = now - since < options.give_up ? State::waiting : State::left;
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

void Seen::leave(std::string why) {
  state = State::left;
  reason = std::move(why);
}

RankClaims::Verdict verdict_of(Delivery::End end, bool once) {
  using Verdict = RankClaims::Verdict;
  if (end == Delivery::End::accepted) return Verdict::accepted;
  const bool comes_again =
      end == Delivery::End::waits || end == Delivery::End::later || (end == Delivery::End::unreadable && !once);
  return comes_again ? Verdict::undecided : Verdict::not_accepted;
}

}  // namespace skewscope::ship
