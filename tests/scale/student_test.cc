// Against printed tables of the t distribution (Abramowitz and Stegun, table 26.10).
#include "src/scale/student.h"

#include <catch2/catch.hpp>

using namespace skewscope::scale;

TEST_CASE("quantiles are those of the printed table") {
  CHECK(t_of_p(0.05, 1) == Approx(12.706).epsilon(1e-4));
  CHECK(t_of_p(0.05, 2) == Approx(4.303).epsilon(1e-4));
  CHECK(t_of_p(0.05, 10) == Approx(2.228).epsilon(2e-4));
  CHECK(t_of_p(0.01, 30) == Approx(2.750).epsilon(2e-4));
  CHECK(t_of_p(0.05, 1e6) == Approx(1.960).epsilon(1e-4));
}

TEST_CASE("a p belongs to its t, and no difference has p one") {
  for (const double freedom : {1.0, 2.5, 18.0, 400.0}) {
    CHECK(two_sided_p(0, freedom) == Approx(1));
    for (const double p : {0.5, 0.05, 1e-6}) CHECK(two_sided_p(t_of_p(p, freedom), freedom) == Approx(p));
  }
  CHECK(two_sided_p(-2.228, 10) == Approx(two_sided_p(2.228, 10)));
}
