#include "rank_claims.h"

#include <chrono>

namespace skewscope::ship {

uint64_t RankClaims::take_turn() {
  const std::lock_guard lock(mutex_);
  unclaimed_.insert(turns_);
  running_.insert(turns_);
  return turns_++;
}

bool RankClaims::may_claim(uint64_t turn, int rank, const Candidate& file) const {
  if (*unclaimed_.begin() < turn) return false;
  const auto other = claims_.find(rank);
  return !replace_ || other == claims_.end() || other->second.is_of(file) || running_.count(other->second.turn) == 0;
}

std::string RankClaims::claim(uint64_t turn, int rank, const Candidate& file, const std::function<bool()>& go_on) {
  constexpr std::chrono::milliseconds kTick{50};
  std::unique_lock lock(mutex_);
  while (!may_claim(turn, rank, file)) {
    changed_.wait_for(lock, kTick);
    lock.unlock();
    const bool on = go_on();
    lock.lock();
    if (!on) return "";
  }
  unclaimed_.erase(turn);
  changed_.notify_all();
  const auto other = claims_.find(rank);
  if (other != claims_.end() && !other->second.is_of(file) && !replace_) return other->second.file.path;
  claims_[rank] = {file, turn};
  return "";
}

void RankClaims::end_turn(uint64_t turn, bool refused) {
  const std::lock_guard lock(mutex_);
  unclaimed_.erase(turn);
  running_.erase(turn);
  if (refused) std::erase_if(claims_, [&](const auto& claim) { return claim.second.turn == turn; });
  changed_.notify_all();
}

}  // namespace skewscope::ship
