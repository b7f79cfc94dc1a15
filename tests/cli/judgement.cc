#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "workplace.h"

using namespace skewscope::test;

TEST_CASE(
    "each rule of --fail-on is printed with its figure and its limit, and one that holds ends the program with 1") {
  const Outcome r = place().run("report traces -o gate --fail-on 'wait_share>99%' --fail-on 'late_share > 10%'");
  CHECK(r.code == 1);
  CHECK(place().has("gate/COMPLETE"));
  CHECK(says(r.err, "skewscope: failed: late_share = "));
  CHECK(says(r.err, "(limit 10 %)\n"));
  CHECK(says(r.err, "skewscope: passed: wait_share = "));
  CHECK(place().run("report traces --json --fail-on 'missing_ranks>0'").code == 0);
}

TEST_CASE("a rule about a rank that the job has not is said to be unchecked, and does not fail") {
  const Outcome r = place().run("report traces -o unchecked --fail-on 'ranks[rank=99].idle_ns>1'");
  CHECK(r.code == 0);
  CHECK(says(r.err, "skewscope: not checked: ranks[rank=99].idle_ns: this report has no row ranks[rank=99]\n"));
}

TEST_CASE("with --quiet only rules that fail are printed") {
  const Outcome r = place().run(
      "report traces -o hushed -q --fail-on 'wait_share>99%' --fail-on 'late_share>10%' --fail-on "
      "'ranks[rank=99].idle_ns>1'");
  CHECK(r.code == 1);
  CHECK(r.err.rfind("skewscope: failed: late_share = ", 0) == 0);
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
}

TEST_CASE("the option --junit writes a test case for each rule and for --strict, and Python reads it") {
  const std::string rules =
      "--fail-on 'wait_share>99%' --fail-on 'late_share>10%' --fail-on 'ranks[rank=99].idle_ns>1' --strict";
  CHECK(place().run("report traces --json --ranks 0-2 --junit rules.xml " + rules).code == 4);
  std::ofstream(place() / "read_junit.py") << R"(
import sys, xml.etree.ElementTree as tree
suites = tree.parse(sys.argv[1]).getroot()
assert suites.tag == "testsuites" and suites.get("tests") == "4" and suites.get("failures") == "2", suites.attrib
cases = {case.get("name"): case for case in suites.iter("testcase")}
assert "limit 10 %" in cases["late_share>10%"].find("failure").get("message")
assert cases["wait_share>99%"].find("failure") is None
assert "no row" in cases["ranks[rank=99].idle_ns>1"].find("skipped").get("message")
assert "--strict: 2 warnings: incomplete-instances" in cases["--strict"].find("failure").get("message"), cases["--strict"][0].attrib
assert all(case.get("classname") == "skewscope.report" for case in cases.values())
)";
  CHECK(std::system(("python3 " + (place() / "read_junit.py") + " " + (place() / "rules.xml")).c_str()) == 0);
}

TEST_CASE(
    "the option --github prints what failed as annotations, whose per cent signs are escaped, and nothing that "
    "passed") {
  const Outcome r =
      place().run("report traces -o annotated -q --github --fail-on 'wait_share>99%' --fail-on 'late_share>10%'");
  CHECK(r.code == 1);
  CHECK(says(r.err, "\n::error title=skewscope: rule failed::late_share = "));
  CHECK(says(r.err, "%25 (limit 10 %25)\n"));
  CHECK_FALSE(says(r.err, "wait_share"));
}

TEST_CASE("what is to be written of rules needs rules, and a place that can be written") {
  for (const char* flag : {"--junit rules.xml", "--github"}) {
    const Outcome r = place().run(std::string("report traces -o unasked ") + flag);
    CHECK(r.code == 2);
    CHECK(says(r.err, "needs a --fail-on or --strict"));
    CHECK_FALSE(place().has("unasked"));
  }
  CHECK(place().run("report traces --json --strict --junit /proc/no/where.xml").code == 5);
}

TEST_CASE("the option --strict lists the warnings that it ends the program for") {
  const Outcome r = place().run("report traces -o lists --ranks 0-2 --strict");
  CHECK(r.code == 4);
  CHECK(says(r.err, "skewscope: error: --strict: 2 warnings: incomplete-instances, unmatched-alone\n"));
}
