#include "seen_file.h"

#include <algorithm>
#include <utility>

namespace skewscope::ship {
namespace {

constexpr auto kLastTry = std::chrono::steady_clock::time_point::max();

}  // namespace

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
      if (options.once) not_before = kLastTry;
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

ShipProgress progress_of(const SeenFiles& files) {
  ShipProgress at;
  for (const auto& [key, seen] : files) {
    const bool accepted = seen.state == Seen::State::accepted;
    if (seen.before || seen.state == Seen::State::bad || seen.state == Seen::State::left) continue;
    ++at.all_files;
    at.files += accepted ? 1 : 0;
    at.all_bytes += static_cast<int64_t>(seen.file.stamp.size);
    at.bytes += static_cast<int64_t>((accepted ? 1 : seen.arrived) * static_cast<double>(seen.file.stamp.size));
  }
  return at;
}

// Newer files of a rank wait for the last try of an older one.
bool all_decided(const SeenFiles& files) {
  using State = Seen::State;
  std::set<int> tried_last;
  for (const auto& [key, seen] : files) {
    if (seen.state == State::waiting && seen.not_before == kLastTry) tried_last.insert(seen.rank);
  }
  return std::none_of(files.begin(), files.end(), [&](const auto& entry) {
    const Seen& seen = entry.second;
    return seen.state == State::watched || seen.state == State::queued ||
           (seen.state == State::waiting && tried_last.count(seen.rank) == 0);
  });
}

std::optional<std::string> begin_last_try(SeenFiles& files) {
  SeenFiles::value_type* oldest = nullptr;
  for (auto& entry : files) {
    const Seen& seen = entry.second;
    if (seen.state != Seen::State::waiting || seen.not_before != kLastTry) continue;
    if (oldest == nullptr || is_older(seen.file, oldest->second.file)) oldest = &entry;
  }
  if (oldest == nullptr) return std::nullopt;
  oldest->second.file.last_try = true;
  return oldest->first;
}

std::set<int> waiting_ranks(const SeenFiles& files) {
  std::set<int> ranks;
  for (const auto& [key, seen] : files) {
    if (seen.state == Seen::State::waiting) ranks.insert(seen.rank);
  }
  return ranks;
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
