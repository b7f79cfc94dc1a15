#include <catch2/catch.hpp>

#include "hand_built.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

bool holds(const JobReport& report, const std::string& expression) {
  const auto result = check_rule(report, expression);
  INFO(expression);
  REQUIRE(result.ok());
  return result.value().verdict == RuleOutcome::Verdict::failed;
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

namespace {

std::string words_of(const JobReport& report, const std::string& expression) {
  const auto result = check_rule(report, expression);
  INFO(expression);
  REQUIRE(result.ok());
  return result.value().words;
}

}  // namespace

TEST_CASE("a rule shows the figure and its limit, passed or failed, in the unit of the limit or of the figure") {
  const JobReport r = report_of();
  CHECK(words_of(r, "wait_share>17%") == "wait_share = 17.6 % (limit 17 %)");
  CHECK(words_of(r, "wait_share>20%") == "wait_share = 17.6 % (limit 20 %)");
  CHECK(words_of(r, "wait_share > 0.17") == "wait_share = 0.176471 (limit 0.17)");
  CHECK(words_of(r, "parallel_efficiency<80%").find("% (at least 80 %)") != std::string::npos);
  CHECK(words_of(r, "ranks[rank=0].wait_ns>2000") == "ranks[rank=0].wait_ns = 3.00 us (limit 2.00 us)");
  CHECK(words_of(r, "missing_ranks==0") == "missing_ranks = 0 (must not be 0)");
}

TEST_CASE("what rounds to its limit is shown with the digits in which it differs") {
  CHECK(words_of(report_of(), "wait_share>17.6%") == "wait_share = 17.6470588235 % (limit 17.6 %)");
  CHECK(words_of(report_of(), "ranks[rank=0].wait_ns>2999") == "ranks[rank=0].wait_ns = 3000 ns (limit 2999 ns)");
}

TEST_CASE("of several figures the farthest out is shown, and how many there are") {
  CHECK(words_of(report_of(), "ranks[*].wait_ns>1") == "ranks[*].wait_ns = 3.00 us, the largest of 2 (limit 1 ns)");
  CHECK(words_of(report_of(), "ranks[*].wait_ns<1") == "ranks[*].wait_ns = 0 ns, the smallest of 2 (at least 1 ns)");
}

TEST_CASE("a rule about rows or figures that the report lacks says so, and neither passes nor fails") {
  const auto absent = check_rule(report_of(), "ranks[rank=99].wait_ns>1");
  REQUIRE(absent.ok());
  CHECK(absent.value().verdict == RuleOutcome::Verdict::unknown);
  CHECK(absent.value().words == "ranks[rank=99].wait_ns: this report has no row ranks[rank=99]");
  CHECK(words_of(report_of(), "steps[0].duration_ns>1") == "steps[0].duration_ns: this report has no row steps[0]");
  CHECK(words_of(JobReport(), "wait_share>1%") == "wait_share: not determined in this report");
}

TEST_CASE("a condition that is not understood is a usage error") {
  for (const char* expression : {"", "wait_share", "wait_share>", "wait_share>x", "wait_share>20%%", "wait_share>5ms",
                                 "wait_share=20%", "wait_share=>20%", ">20%", "wait_shar>20%", "wait_share>nan"}) {
    const auto result = check_rule(JobReport(), expression);
    INFO(expression);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().kind == ErrorKind::usage);
  }
}
