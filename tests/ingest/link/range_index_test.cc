#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <vector>

#include "src/ingest/link/range_index.h"

using skewscope::LocalNs;
using skewscope::ingest::RangeIndex;

namespace {

struct Range {
  int64_t track;
  LocalNs start;
  int64_t duration_ns;
};
int64_t track_of(const Range& range) { return range.track; }

std::vector<int32_t> rows_of(const std::vector<Range>& ranges) {
  std::vector<int32_t> rows(ranges.size());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

const auto kAny = [](int32_t) { return true; };

}  // namespace

TEST_CASE("the innermost range over a moment is found, also behind ended siblings") {
  const std::vector<Range> ranges = {{1, {0}, 100}, {1, {10}, 50}, {1, {20}, 5}, {2, {20}, 50}};
  RangeIndex index(ranges, rows_of(ranges));
  size_t near = 0;
  CHECK(index.innermost(1, {22}, near, kAny) == 2);
  CHECK(index.innermost(1, {25}, near, kAny) == 2);  // ends are inside: stamps of whole microseconds touch
  CHECK(index.innermost(1, {26}, near, kAny) == 1);
  CHECK(index.innermost(1, {80}, near, kAny) == 0);
  CHECK(index.innermost(1, {101}, near, kAny) == -1);
  CHECK(index.innermost(2, {10}, near, kAny) == -1);
  CHECK(index.innermost(3, {10}, near, kAny) == -1);
  CHECK(index.innermost(1, {22}, near, [](int32_t row) { return row != 2; }) == 1);
}

TEST_CASE("ranges that overlap without nesting are all found") {
  std::mt19937 random(7);
  std::vector<Range> ranges;
  for (int32_t i = 0; i < 200; ++i) {
    const int64_t start = static_cast<int64_t>(random() % 1000);
    ranges.push_back({0, {start}, static_cast<int64_t>(random() % 100)});
  }
  RangeIndex index(ranges, rows_of(ranges));
  size_t near = 0;
  for (int64_t t = 0; t < 1100; ++t) {
    std::vector<bool> seen(ranges.size(), false);
    index.innermost(0, {t}, near, [&](int32_t row) {
      seen[static_cast<size_t>(row)] = true;
      return false;
    });
    for (size_t i = 0; i < ranges.size(); ++i) {
      const bool inside = ranges[i].start.ns <= t && t <= ranges[i].start.ns + ranges[i].duration_ns;
      REQUIRE(seen[i] == inside);
    }
  }
}

TEST_CASE("the first range that starts inside an interval is found") {
  const std::vector<Range> ranges = {{1, {10}, 1}, {1, {20}, 1}, {1, {30}, 1}};
  RangeIndex index(ranges, rows_of(ranges));
  size_t near = 0;
  CHECK(index.first_started_in(1, {15}, {40}, near, kAny) == 1);
  CHECK(index.first_started_in(1, {20}, {40}, near, [](int32_t row) { return row == 2; }) == 2);
  CHECK(index.first_started_in(1, {31}, {40}, near, kAny) == -1);
}

TEST_CASE(
    "of ranges of one extent the later one of the table is the inner one, and rows that are not given are not found") {
  const std::vector<Range> ranges = {{1, {10}, 5}, {1, {10}, 5}, {1, {11}, 1}};
  RangeIndex index(ranges, {0, 1});
  size_t near = 0;
  CHECK(index.innermost(1, {11}, near, kAny) == 1);
  CHECK(index.innermost(1, {11}, near, [](int32_t row) { return row != 1; }) == 0);
}
