// Whose turn it is among files of one rank.
//
// The profiler of a job may leave several captures in one folder; an agent sends one, and the gatherer keeps what came
// first (with --replace what came last). On each node that must be the same one: files of one rank are sent one after
// the other, the oldest first, whoever is checked first. So files are taken from the queue by age, a file's rank is
// claimed only after all that were taken before it have claimed theirs, and it waits, outside the queue, until nothing
// older of its rank is undecided.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "deliver.h"

namespace skewscope::ship {

bool is_older(const Candidate& a, const Candidate& b);

class RankClaims {
 public:
  // A file is taken from the queue.
  uint64_t take_turn();
  // Waits for earlier turns to be claimed or ended, as long as `go_on`.
  Claim claim(uint64_t turn, int rank, const Candidate& file, const std::function<bool()>& go_on);
  // Something older of its rank is undecided still.
  bool must_wait(int rank, const Candidate& file);
  // `rank` -1: it claimed none. What is undecided will be tried again as it is, and what is newer waits for it.
  enum class Verdict { accepted, not_accepted, undecided };
  void end_turn(uint64_t turn, int rank, const Candidate& file, Verdict verdict);
  // It is gone.
  void forget(const Candidate& file);

 private:
  struct Rank {
    std::vector<Candidate> undecided;
    std::optional<Candidate> newest;  // accepted
  };

  static bool has_older(const Rank& known, const Candidate& file);

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t turns_ = 0;
  std::set<uint64_t> unclaimed_;  // turns
  std::map<int, Rank> ranks_;
};

}  // namespace skewscope::ship
