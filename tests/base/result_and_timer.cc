#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "skewscope/base/result.h"
#include "skewscope/base/stage_timer.h"

using namespace skewscope;

namespace {

Result<std::unique_ptr<int>> half(int n) {
  if (n % 2 != 0) return Error{ErrorKind::usage, std::to_string(n) + " is odd"};
  return std::make_unique<int>(n / 2);
}

}  // namespace

TEST_CASE("a result is a value or an error that says why") {
  const auto good = half(8);
  REQUIRE(good.ok());
  CHECK(*good.value() == 4);

  const auto bad = half(7);
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.error().kind == ErrorKind::usage);
  CHECK(bad.error().message == "7 is odd");
}

TEST_CASE("a value can be moved out of a result") {
  const std::unique_ptr<int> four = half(8).value();
  CHECK(*four == 4);
}

TEST_CASE("stages are timed in order of start, with their nesting") {
  StageTimer timer;
  {
    const StageTimer::Scope ingest(timer, "ingest");
    const StageTimer::Scope parse(timer, "parse");
  }
  { const StageTimer::Scope match(timer, "match"); }

  REQUIRE(timer.stages().size() == 3);
  CHECK(timer.stages()[0].name == "ingest");
  CHECK(timer.stages()[0].depth == 0);
  CHECK(timer.stages()[1].name == "parse");
  CHECK(timer.stages()[1].depth == 1);
  CHECK(timer.stages()[2].depth == 0);
  CHECK(timer.stages()[0].seconds >= timer.stages()[1].seconds);
}
