// Rules as data: what a user's file may change, and what it is told when it is wrong.
#include <catch2/catch.hpp>

#include "skewscope/advise.h"

using namespace skewscope;

namespace {

const Rule& rule_of(const Rules& rules, const std::string& code) {
  for (const Rule& rule : rules) {
    if (rule.code == code) return rule;
  }
  FAIL("no rule " << code);
  return rules.front();
}

std::string error_of(const char* json) {
  const Result<Rules> rules = parse_rules(json, "mine.json");
  return rules.ok() ? "" : rules.error().message;
}

}  // namespace

TEST_CASE("a user's file changes one threshold and leaves the rest of the rule and the others as they are") {
  const Result<Rules> rules =
      parse_rules(R"({"rules": [{"code": "low-occupancy", "thresholds": {"occupancy": 0.5}}]})", "mine.json");
  REQUIRE(rules.ok());
  CHECK(rules.value().size() == built_in_rules().size());
  const Rule &changed = rule_of(rules.value(), "low-occupancy"), &built_in = rule_of(built_in_rules(), "low-occupancy");
  CHECK(changed.thresholds.at("occupancy") == 0.5);
  CHECK(changed.thresholds.at("busy_share") == built_in.thresholds.at("busy_share"));
  CHECK(changed.meaning == built_in.meaning);
}

TEST_CASE("a rule that is turned off makes no finding") {
  RankTables tables;
  TimelineRow whole;
  whole.gpu_rows = 1;
  whole.timeline.total_ns = whole.timeline.compute_ns = 1000;
  tables.timeline = {whole};
  CHECK(advice_on(tables, {}, built_in_rules()).size() == 1);
  const Result<Rules> rules = parse_rules(R"({"rules": [{"code": "compute-bound", "enabled": false}]})", "mine.json");
  REQUIRE(rules.ok());
  CHECK(advice_on(tables, {}, rules.value()).empty());
}

TEST_CASE("what is wrong with a file of rules is said with its name, the rule and the key") {
  CHECK(error_of("nonsense") == "mine.json: is no JSON");
  CHECK(error_of("{}") == "mine.json: has no list 'rules'");
  CHECK(error_of(R"({"rules": [{}]})") == "mine.json: a rule without a code");
  CHECK(error_of(R"({"rules": [{"code": "no-such"}]})") == "mine.json: there is no rule 'no-such'");
  CHECK(error_of(R"({"rules": [{"code": "hotspot", "thresholds": {"share": 1}}]})") ==
        "mine.json: rule 'hotspot' has no threshold 'share'");
  CHECK(error_of(R"({"rules": [{"code": "hotspot", "thresholds": {"kernel_share": "much"}}]})") ==
        "mine.json: rule 'hotspot': threshold kernel_share is no number");
  CHECK(error_of(R"({"rules": [{"code": "hotspot", "treshold": {}}]})") ==
        "mine.json: rule 'hotspot': unknown key 'treshold'");
  CHECK(error_of(R"({"rules": [{"code": "hotspot", "enabled": 1}]})") ==
        "mine.json: rule 'hotspot': enabled is neither true nor false");
}

TEST_CASE("a file of rules that is not there is an error that names it") {
  const Result<Rules> rules = load_rules("no/such/rules.json");
  REQUIRE_FALSE(rules.ok());
  CHECK(rules.error().message == "no/such/rules.json: cannot be read: No such file or directory");
}
