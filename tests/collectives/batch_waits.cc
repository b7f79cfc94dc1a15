#include "collectives/batch_waits.h"

#include <catch2/catch.hpp>

using namespace skewscope;

namespace {

// A ring of four: each sends to the next one and receives from the one before it.
const std::vector<BatchEnd> kRing = {{0, 1, false}, {0, 3, true}, {1, 2, false}, {1, 0, true},
                                     {2, 3, false}, {2, 1, true}, {3, 0, false}, {3, 2, true}};

}  // namespace

TEST_CASE("a sender who left before its receiver came was not held, one who was still there was") {
  STATIC_REQUIRE_FALSE(is_held(100, 101));
  STATIC_REQUIRE(is_held(101, 100));
}

TEST_CASE("in a ring who receives from the late one waits for it, and who sends to it where it is held") {
  // 1 comes at 100. What 0 sends to it is buffered; 3 has all it waits for.
  const std::vector<BatchCall> buffered = {{0, 12}, {100, 110}, {0, 111}, {0, 12}};
  CHECK(awaited_in_batch(buffered, kRing) ==
        std::vector<Awaited>{{0, 3}, {1, 0}, {1, 2}, {2, 1}, {2, 3}, {3, 0}, {3, 2}});
  const std::vector<BatchCall> held = {{0, 109}, {100, 110}, {0, 111}, {0, 12}};
  CHECK(awaited_in_batch(held, kRing) ==
        std::vector<Awaited>{{0, 1}, {0, 3}, {1, 0}, {1, 2}, {2, 1}, {2, 3}, {3, 0}, {3, 2}});
}

TEST_CASE("who stays on long after its partners came waits for whom they wait for") {
  // 2 waits for 1, and what it has for 3 waits with it.
  const std::vector<BatchCall> calls = {{0, 12}, {100, 110}, {0, 111}, {0, 112}};
  const std::vector<Awaited> awaited = awaited_in_batch(calls, kRing);
  CHECK(std::count(awaited.begin(), awaited.end(), Awaited{3, 1}) == 1);
  CHECK(std::count(awaited.begin(), awaited.end(), Awaited{0, 1}) == 0);
}

TEST_CASE("a call that takes little longer than a transfer is no waiter for others than its partners") {
  const std::vector<BatchCall> calls = {{0, 22}, {15, 25}, {0, 26}, {0, 24}};
  for (const Awaited& a : awaited_in_batch(calls, kRing)) {
    CHECK(((a.waiter + 1) % 4 == a.partner || (a.partner + 1) % 4 == a.waiter));
  }
}
