#include <catch2/catch.hpp>
#include <future>

#include "src/ship/rank_claims.h"

using namespace skewscope::ship;
using namespace std::chrono_literals;

namespace {

using Verdict = RankClaims::Verdict;

const Candidate kOldest{"step120", {1, 2, 3, 120}}, kMiddle{"step240", {1, 5, 3, 240}},
    kNewest{"step360", {1, 7, 3, 360}};
const auto kAlways = [] { return true; };

}  // namespace

TEST_CASE("the oldest file of a rank goes first, though another is checked first") {
  RankClaims claims;
  const uint64_t first = claims.take_turn(), second = claims.take_turn();
  auto newer = std::async(std::launch::async, [&] { return claims.claim(second, 7, kMiddle, kAlways); });
  CHECK(newer.wait_for(100ms) == std::future_status::timeout);
  CHECK(claims.claim(first, 7, kOldest, kAlways) == Claim::granted);
  CHECK(newer.get() == Claim::waits);
}

TEST_CASE("the next file of a rank goes once what is older was accepted or refused, not while it will be tried again") {
  for (const Verdict verdict : {Verdict::accepted, Verdict::not_accepted, Verdict::undecided}) {
    RankClaims claims;
    const uint64_t first = claims.take_turn();
    CHECK(claims.claim(first, 7, kOldest, kAlways) == Claim::granted);
    claims.end_turn(first, 7, kOldest, verdict);
    const Claim expected = verdict == Verdict::undecided ? Claim::waits : Claim::granted;
    CHECK(claims.claim(claims.take_turn(), 7, kMiddle, kAlways) == expected);
    CHECK(claims.claim(claims.take_turn(), 8, kMiddle, kAlways) == Claim::granted);
  }
}

TEST_CASE("files that wait go by age, in whatever order they come again") {
  RankClaims claims;
  for (const Candidate* file : {&kOldest, &kMiddle, &kNewest}) {
    const uint64_t turn = claims.take_turn();
    const bool goes = claims.claim(turn, 7, *file, kAlways) == Claim::granted;
    CHECK(goes == (file == &kOldest));
    if (!goes) claims.end_turn(turn, 7, *file, Verdict::undecided);
  }
  CHECK(claims.must_wait(7, kMiddle));
  claims.forget(kOldest);
  CHECK_FALSE(claims.must_wait(7, kMiddle));
  CHECK(claims.must_wait(7, kNewest));
  CHECK(claims.claim(claims.take_turn(), 7, kNewest, kAlways) == Claim::waits);
  CHECK(claims.claim(claims.take_turn(), 7, kMiddle, kAlways) == Claim::granted);
}

TEST_CASE("what comes after a newer file was accepted is outdated") {
  RankClaims claims;
  const uint64_t turn = claims.take_turn();
  CHECK(claims.claim(turn, 7, kMiddle, kAlways) == Claim::granted);
  claims.end_turn(turn, 7, kMiddle, Verdict::accepted);
  CHECK(claims.claim(claims.take_turn(), 7, kOldest, kAlways) == Claim::outdated);
}

TEST_CASE("an agent that is stopped waits for no rank") {
  RankClaims claims;
  claims.take_turn();
  CHECK(claims.claim(claims.take_turn(), 7, kNewest, [] { return false; }) == Claim::waits);
}
