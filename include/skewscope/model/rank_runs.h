// Ranks in the order in which something lists them, kept as runs of equal distance.
//
// What a process group lists is mostly one run ("0, 8, 16, ..."), and each of the N traces of a job lists all N ranks:
// as runs that is N rows, not N^2.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace skewscope {

class RankRuns {
 public:
  RankRuns() = default;
  RankRuns(std::initializer_list<int64_t> ranks) : RankRuns(std::vector<int64_t>(ranks)) {}
  explicit RankRuns(const std::vector<int64_t>& ranks);
  // first, first + stride, ...: `count` >= 1 of them, all from 0 to 2^31 - 1.
  static RankRuns progression(int64_t first, int64_t stride, int64_t count);

  bool empty() const { return runs_.empty(); }
  size_t size() const;
  bool contains(int64_t rank) const;
  // One by one, in the order listed.
  std::vector<int64_t> ranks() const;

  // Equal where the lists are equal; the order is any.
  friend auto operator<=>(const RankRuns&, const RankRuns&) = default;

 private:
  struct Run {
    int64_t first = 0, stride = 0, count = 1;  // a stride of 0 where count is 1
    friend auto operator<=>(const Run&, const Run&) = default;
  };
  std::vector<Run> runs_;  // each goes on as long as it can
};

}  // namespace skewscope
