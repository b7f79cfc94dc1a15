#include <catch2/catch.hpp>
#include <future>

#include "src/ship/rank_claims.h"

using namespace skewscope::ship;
using namespace std::chrono_literals;

namespace {

const Candidate kOlder{"a/step120", {1, 2, 3, 4}}, kNewer{"a/step240", {1, 5, 3, 6}};
const auto kAlways = [] { return true; };

}  // namespace

TEST_CASE("a rank is the file's whose turn came first, though another is checked first") {
  RankClaims claims(false);
  const uint64_t first = claims.take_turn(), second = claims.take_turn();
  auto newer = std::async(std::launch::async, [&] { return claims.claim(second, 7, kNewer, kAlways); });
  CHECK(newer.wait_for(100ms) == std::future_status::timeout);
  CHECK(claims.claim(first, 7, kOlder, kAlways).empty());
  CHECK(newer.get() == "a/step120");
}

TEST_CASE("a file that ends without a rank, or is refused for good, stands in nobody's way") {
  RankClaims claims(false);
  const uint64_t first = claims.take_turn(), second = claims.take_turn(), third = claims.take_turn();
  claims.end_turn(first, false);
  CHECK(claims.claim(second, 7, kOlder, kAlways).empty());
  claims.end_turn(second, true);
  CHECK(claims.claim(third, 7, kNewer, kAlways).empty());
}

TEST_CASE("a file has its rank again when it is tried again, renamed or written anew") {
  RankClaims claims(false);
  CHECK(claims.claim(claims.take_turn(), 7, kOlder, kAlways).empty());
  CHECK(claims.claim(claims.take_turn(), 7, kOlder, kAlways).empty());
  CHECK(claims.claim(claims.take_turn(), 7, {"renamed", kOlder.stamp}, kAlways).empty());
  CHECK(claims.claim(claims.take_turn(), 7, {"renamed", kNewer.stamp}, kAlways).empty());
}

TEST_CASE("a file that replaces another waits until that has been sent") {
  RankClaims claims(true);
  const uint64_t first = claims.take_turn(), second = claims.take_turn();
  CHECK(claims.claim(first, 7, kOlder, kAlways).empty());
  auto newer = std::async(std::launch::async, [&] { return claims.claim(second, 7, kNewer, kAlways); });
  CHECK(newer.wait_for(100ms) == std::future_status::timeout);
  claims.end_turn(first, false);
  CHECK(newer.get().empty());
}

TEST_CASE("an agent that is stopped waits for no rank") {
  RankClaims claims(false);
  claims.take_turn();
  CHECK(claims.claim(claims.take_turn(), 7, kNewer, [] { return false; }).empty());
}
