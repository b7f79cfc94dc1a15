#include <catch2/catch.hpp>

#include "skewscope/model/rank_runs.h"

using skewscope::RankRuns;

TEST_CASE("listed ranks come back in the order in which they were listed") {
  const std::vector<std::vector<int64_t>> lists = {
      {},           {5},
      {0, 1, 2, 3}, {0, 8, 16, 24},
      {3, 2, 1, 0}, {0, 1, 8, 9, 16, 17},
      {7, 7, 7, 1}, {-1, 0, 1, INT64_MAX, INT64_MIN, INT64_MIN + 1, 2},
  };
  for (const std::vector<int64_t>& list : lists) {
    const RankRuns runs(list);
    CHECK(runs.ranks() == list);
    CHECK(runs.size() == list.size());
    CHECK(runs.empty() == list.empty());
  }
}

TEST_CASE("listed ranks hold what was listed and nothing else") {
  const RankRuns every_eighth = {0, 8, 16, 24}, backwards = {9, 6, 3}, wild = {-5, INT64_MAX, 2, 2, 2};
  for (const int64_t rank : {0, 8, 16, 24}) CHECK(every_eighth.contains(rank));
  for (const int64_t rank : {-8, 4, 7, 9, 32}) CHECK_FALSE(every_eighth.contains(rank));
  for (const int64_t rank : {9, 6, 3}) CHECK(backwards.contains(rank));
  for (const int64_t rank : {12, 0, 5, 7}) CHECK_FALSE(backwards.contains(rank));
  for (const int64_t rank : {int64_t{-5}, INT64_MAX, int64_t{2}}) CHECK(wild.contains(rank));
  for (const int64_t rank : {INT64_MIN, int64_t{-4}, int64_t{3}, int64_t{0}}) CHECK_FALSE(wild.contains(rank));
  CHECK_FALSE(RankRuns().contains(0));
}

TEST_CASE("listed ranks are equal where the lists are, however they were made") {
  CHECK(RankRuns::progression(4, 3, 3) == RankRuns{4, 7, 10});
  CHECK(RankRuns::progression(4, 3, 1) == RankRuns{4});
  CHECK(RankRuns{0, 1, 2} != RankRuns{2, 1, 0});
  CHECK(RankRuns{0, 1, 2} != RankRuns{0, 1});
}
