#include <catch2/catch.hpp>
#include <type_traits>
#include <unordered_set>

#include "skewscope/base/ids.h"
#include "skewscope/base/time.h"

using namespace skewscope;

TEST_CASE("an id that was never set says that there is none") {
  CHECK_FALSE(Rank().known());
  CHECK(Rank(0).known());
  CHECK(Rank(7).index() == 7);
  CHECK(Rank() < Rank(0));
}

TEST_CASE("ids of different meaning do not mix") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Rank, TraceIndex>);
  STATIC_REQUIRE_FALSE(std::is_assignable_v<Rank&, TraceIndex>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<int, Rank>);
}

TEST_CASE("ids can be keys of hash tables") {
  const std::unordered_set<Rank> ranks = {Rank(1), Rank(2), Rank(1)};
  CHECK(ranks.size() == 2);
}

TEST_CASE("a stamp plus a duration is a stamp, and stamps subtract to a duration") {
  const LocalNs begin{1'700'000'000'000'000'001};
  CHECK((begin + 5).ns == 1'700'000'000'000'000'006);
  CHECK((begin + 5) - begin == 5);
  CHECK((begin - 1) < begin);
}

TEST_CASE("a stamp of a rank's clock is no stamp of the job's clock") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<LocalNs, JobNs>);
  STATIC_REQUIRE_FALSE(std::is_assignable_v<JobNs&, LocalNs>);
}
