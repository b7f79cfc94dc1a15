// Series made by a law whose autocorrelation is known: AR(1), each value keeps a share of the one before.
#include "src/scale/sample.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace skewscope::scale;

namespace {

// Variance 1 and mean 0, whatever the share.
std::vector<double> series(std::mt19937_64& random, size_t length, double share) {
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (double v = normal(random); values.size() < length;
       v = share * v + std::sqrt(1 - share * share) * normal(random)) {
    values.push_back(v);
  }
  return values;
}

// How often equal runs differ by a p below 5 %.
double false_alarms(size_t length, double share) {
  constexpr int kRounds = 2000;
  std::mt19937_64 random(1);
  int alarms = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Sample a = sample_of(series(random, length, share)), b = sample_of(series(random, length, share));
    alarms += welch_p(a, b) < 0.05 ? 1 : 0;
  }
  return static_cast<double>(alarms) / kRounds;
}

}  // namespace

TEST_CASE("false alarms stay near five percent, however much a step is like the one before") {
  for (const size_t length : {10, 20, 50, 200}) {
    for (const double share : {0.0, 0.3, 0.6, 0.8}) {
      CAPTURE(length, share);
      const double rate = false_alarms(length, share);
      CHECK(rate < 0.08);
      CHECK(rate > 0.02);
    }
  }
}

TEST_CASE("a difference of four standard errors is found in independent and in correlated steps") {
  for (const double share : {0.0, 0.6}) {
    std::mt19937_64 random(2);
    int found = 0;
    for (int round = 0; round < 200; ++round) {
      std::vector<double> base = series(random, 100, share), now = series(random, 100, share);
      for (double& v : now) v += 4 * std::sqrt(2.0 / 100 * (1 + share) / (1 - share));
      found += welch_p(sample_of(base), sample_of(now)) < 0.05 ? 1 : 0;
    }
    CAPTURE(share);
    CHECK(found > 180);
  }
}

TEST_CASE("steps that alternate, stand still or are too few count as independent") {
  const Sample alternating = sample_of({1, 3, 1, 3, 1, 3, 1, 3});
  CHECK(alternating.error() == Approx(std::sqrt(8.0 / 7 / 8)));
  const Sample still = sample_of(std::vector<double>(10, 5));
  CHECK(still.error() == 0);
  CHECK(welch_p(still, still) == 1);
  CHECK(welch_p(still, sample_of(std::vector<double>(10, 6))) == 0);
  const Sample rising = sample_of({1, 2, 3, 4});  // variance 5/3
  CHECK(rising.error() == Approx(std::sqrt(5.0 / 3 / 4)));
}

TEST_CASE("the error of a mean counts what neighbours share") {
  // Deviations -1 and 1, four each: the seven products sum to 5, the squares to 8; r = (8 * 5/8 + 1) / 4 > 0.99 is
  // capped.
  const Sample two_halves = sample_of({1, 1, 1, 1, 3, 3, 3, 3});
  CHECK(two_halves.products == Approx(5));
  CHECK(two_halves.error() == Approx(1));  // worth two steps, of variance 8/8 * 2
}
