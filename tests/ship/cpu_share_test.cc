#include "src/ship/cpu_share.h"

#include <catch2/catch.hpp>

using skewscope::ship::CpuShare;
using namespace std::chrono_literals;

TEST_CASE("what was used is rested for until it is within the share, and idleness is not saved up") {
  CpuShare share(0.05);
  const CpuShare::Moment start = CpuShare::Moment() + 1000s;
  CHECK(share.due(0ms, start) == 0ms);
  CHECK(share.due(5ms, start) == 0ms);  // a tenth of a second was free
  CHECK(share.due(15ms, start) == 200ms);
  CHECK(share.due(15ms, start + 150ms) == 50ms);
  CHECK(share.due(15ms, start + 200ms) == 0ms);
  CHECK(share.due(20ms, start + 1000s) == 0ms);
  CHECK(share.due(30ms, start + 1000s) == 100ms);
}

TEST_CASE("a rest ends although waking from it takes some of the share") {
  CpuShare share(0.05);
  CpuShare::Moment now = CpuShare::Moment() + 1000s;
  CpuShare::Nanoseconds used = 0ms;
  share.due(used, now);
  used += 6ms;
  int wakings = 0;
  for (CpuShare::Nanoseconds wait = share.due(used, now); wait > 0ms && wakings < 100; ++wakings) {
    now += wait;
    used += 100us;  // of a processor, by each waking
    wait = share.due(used, now);
  }
  CHECK(wakings < 5);
}

TEST_CASE("without a share nothing rests, and who is to stop does not") {
  CpuShare none(0), little(1e-6);
  CHECK(none.rest([] { return true; }, 1000s));
  CHECK_FALSE(little.rest([asked = 0]() mutable { return ++asked < 3; }, 1000s));
}
