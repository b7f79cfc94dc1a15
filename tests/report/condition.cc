#include <catch2/catch.hpp>

#include "hand_built.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

bool holds(const JobReport& report, const std::string& expression) {
  const auto result = condition_holds(report, expression);
  INFO(expression);
  REQUIRE(result.ok());
  return result.value();
}

// Two ranks; wait 3000 of 10000 + 7000 ns in calls.
JobReport report_of() {
  HandBuilt built = job_of(2);
  add_all_reduce(built, {0, 3000}, 10000, 4000);
  return built.report();
}

}  // namespace

TEST_CASE("a condition compares a figure with a number or a percentage") {
  const JobReport r = report_of();
  CHECK(holds(r, "wait_share>17%"));
  CHECK_FALSE(holds(r, "wait_share>18%"));
  CHECK(holds(r, "wait_share < 0.18"));
  CHECK(holds(r, "exposed_wait_share<=0.15%"));  // 3000 ns of 2 ms
  CHECK(holds(r, "late_share==100%"));
  CHECK(holds(r, "missing_ranks==0"));
  CHECK(holds(r, "parallel_efficiency>=60%"));
  CHECK_FALSE(holds(r, "unmatched>0"));
  CHECK(holds(r, "incomplete_share<1e-3"));
}

TEST_CASE("a condition on a figure that is not determined does not hold") {
  const JobReport empty;
  CHECK_FALSE(holds(empty, "wait_share>=0"));
  CHECK_FALSE(holds(empty, "parallel_efficiency<80%"));
  CHECK(holds(empty, "errors==0"));
}

TEST_CASE("a condition that is not understood is a usage error") {
  for (const char* expression : {"", "wait_share", "wait_share>", "wait_share>x", "wait_share>20%%", "wait_share>5ms",
                                 "wait_share=20%", "wait_share=>20%", ">20%", "wait_shar>20%", "wait_share>nan"}) {
    const auto result = condition_holds(JobReport(), expression);
    INFO(expression);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().kind == ErrorKind::usage);
  }
}
