#include "src/simulate/random.h"

#include <catch2/catch.hpp>

using skewscope::simulate::Random;

namespace {

struct Moments {
  double mean = 0, variance = 0;
};

template <class Draw>
Moments moments_of(Draw draw) {
  constexpr int kDraws = 100'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = draw();
    sum += x;
    squares += x * x;
  }
  return {sum / kDraws, squares / kDraws - sum / kDraws * sum / kDraws};
}

}  // namespace

TEST_CASE("the generator is splitmix64") {
  Random random(0);
  CHECK(random.next() == 0xE220A8397B1DCDAFULL);
  CHECK(random.next() == 0x6E789E6AA1B965F4ULL);
}

TEST_CASE("the distributions have their means and variances") {
  Random random(7);
  const Moments normal = moments_of([&] { return random.normal(); });
  CHECK(normal.mean == Approx(0).margin(0.02));
  CHECK(normal.variance == Approx(1).margin(0.03));
  const Moments exponential = moments_of([&] { return random.exponential(); });
  CHECK(exponential.mean == Approx(1).margin(0.02));
  CHECK(exponential.variance == Approx(1).margin(0.05));
  const Moments lognormal = moments_of([&] { return random.lognormal(0.02); });
  CHECK(lognormal.mean == Approx(1).margin(0.001));
  CHECK(lognormal.variance == Approx(0.0004).margin(0.00002));
}
