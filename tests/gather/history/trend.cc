#include "src/gather/history/trend.h"

#include <catch2/catch.hpp>

#include "src/gather/history/history.h"

using namespace skewscope::gather;

TEST_CASE("a change for good is where the figures change, by how much") {
  const std::vector<TrendChange> changes = changes_in({100, 101, 99, 100, 102, 120, 121, 119, 120, 122});
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].at == 5);
  CHECK(changes[0].relative == Approx(0.2));
}

TEST_CASE("two changes are two, a single figure that is off is none, and neither is what figures differ by anyway") {
  const std::vector<double> up_and_down = {100, 100, 101, 100, 100, 130, 131, 130, 130, 131, 100, 100, 101, 100};
  const std::vector<TrendChange> changes = changes_in(up_and_down);
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].at == 5);
  CHECK(changes[1].at == 10);
  CHECK(changes[1].relative < 0);
  CHECK(changes_in({100, 101, 99, 100, 180, 100, 99, 101, 100}).empty());
  CHECK(changes_in({100, 130, 90, 120, 95, 125, 100, 135, 92, 121}).empty());
  CHECK(changes_in({100, 100, 103, 103, 103, 103}).empty());  // 3 %
}

TEST_CASE("few figures, none, and zeros tell of no change") {
  CHECK(changes_in({}).empty());
  CHECK(changes_in({100, 200, 300, 400, 500}).empty());
  CHECK(changes_in({0, 0, 0, 5, 5, 5}).empty());
}

TEST_CASE("jobs are runs of one name where they differ in what counts them: ids, dates, times") {
  CHECK(series_of("pretrain-7b-4711") == "pretrain-7b");
  CHECK(series_of("pretrain-7b_2026-11-29") == "pretrain-7b");
  CHECK(series_of("eval.20261129T0610") == "eval");
  CHECK(series_of("pretrain-7b") == "pretrain-7b");
  CHECK(series_of("run") == "run");
  CHECK(series_of("run~2") == "run");
  CHECK(series_of("pretrain-7b-4711~12") == "pretrain-7b");
  CHECK(series_of("4711") == "4711");
  CHECK(series_of("bert-4711-r2") == "bert-4711-r2");
}
