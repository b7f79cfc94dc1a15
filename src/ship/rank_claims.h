// Which file is a rank's, where a folder holds several of it.
//
// The profiler of a job may leave several captures in one folder; an agent sends one. On each node it must be the same
// one: the oldest of each rank, whoever is checked first. So files are taken from the queue by age, and a file's rank
// is claimed only after all that were taken before it have claimed theirs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "deliver.h"

namespace skewscope::ship {

class RankClaims {
 public:
  // `replace`: a newer file takes its rank over, once the older one has been dealt with.
  explicit RankClaims(bool replace) : replace_(replace) {}

  // A file is taken from the queue: its turn.
  uint64_t take_turn();
  // The older file that has `rank`; "": `file` has it now, or `go_on` said no. Waits for earlier turns. Of equal path,
  // files are one that was written anew: that is the gatherer's to judge.
  std::string claim(uint64_t turn, int rank, const Candidate& file, const std::function<bool()>& go_on);
  // The file has been dealt with; `refused`: for good, its rank is free again.
  void end_turn(uint64_t turn, bool refused);

 private:
  struct Claim {
    Candidate file;
    uint64_t turn = 0;
    bool is_of(const Candidate& other) const { return file.path == other.path || file.stamp == other.stamp; }
  };
  bool may_claim(uint64_t turn, int rank, const Candidate& file) const;

  const bool replace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t turns_ = 0;
  std::set<uint64_t> unclaimed_, running_;  // turns
  std::map<int, Claim> claims_;             // by rank
};

}  // namespace skewscope::ship
