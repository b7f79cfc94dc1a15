#include "rank_claims.h"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace skewscope::ship {

bool is_older(const Candidate& a, const Candidate& b) {
  return std::tie(a.stamp.mtime_ns, a.path) < std::tie(b.stamp.mtime_ns, b.path);
}

bool RankClaims::has_older(const Rank& known, const Candidate& file) {
  return std::any_of(known.undecided.begin(), known.undecided.end(),
                     [&](const Candidate& other) { return !(other.stamp == file.stamp) && is_older(other, file); });
}

bool RankClaims::must_wait(int rank, const Candidate& file) {
  const std::lock_guard lock(mutex_);
  return has_older(ranks_[rank], file);
}

uint64_t RankClaims::take_turn() {
  const std::lock_guard lock(mutex_);
  unclaimed_.insert(turns_);
  return turns_++;
}

Claim RankClaims::claim(uint64_t turn, int rank, const Candidate& file, const std::function<bool()>& go_on) {
  constexpr std::chrono::milliseconds kTick{50};
  std::unique_lock lock(mutex_);
  while (*unclaimed_.begin() < turn) {
    changed_.wait_for(lock, kTick);
    lock.unlock();
    const bool on = go_on();
    lock.lock();
    if (!on) return Claim::waits;
  }
  unclaimed_.erase(turn);
  changed_.notify_all();
  Rank& known = ranks_[rank];
  const auto same = [&](const Candidate& other) { return other.stamp == file.stamp; };
  if (std::none_of(known.undecided.begin(), known.undecided.end(), same)) known.undecided.push_back(file);
  if (has_older(known, file)) return Claim::waits;
  return known.newest && is_older(file, *known.newest) ? Claim::outdated : Claim::granted;
}

void RankClaims::end_turn(uint64_t turn, int rank, const Candidate& file, Verdict verdict) {
  if (verdict != Verdict::undecided) forget(file);
  const std::lock_guard lock(mutex_);
  unclaimed_.erase(turn);
  changed_.notify_all();
  if (verdict != Verdict::accepted || rank < 0) return;
  std::optional<Candidate>& newest = ranks_[rank].newest;
  if (!newest || is_older(*newest, file)) newest = file;
}

void RankClaims::forget(const Candidate& file) {
  const std::lock_guard lock(mutex_);
  for (auto& [rank, known] : ranks_) {
    std::erase_if(known.undecided, [&](const Candidate& other) { return other.stamp == file.stamp; });
  }
}

}  // namespace skewscope::ship
