#include "skewscope/gather/report_outcome.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace skewscope;

namespace {

ReportOutcome outcome_of_a_slow_rank() {
  ReportOutcome outcome;
  outcome.recorded_ns = 1'780'000'000'000'000'000;
  outcome.ranks = 8;
  outcome.steps = 5;
  outcome.step_ns = 15'000'000;
  outcome.efficiency = 0.57;
  outcome.waiting = 0.15;
  outcome.gain = 0.16;
  outcome.loss = "straggler";
  outcome.gpu = "NVIDIA H100 80GB HBM3";
  outcome.hosts = {"node0", "node1"};
  outcome.causes = {{ReportOutcome::Part::gpu, "node1", 5, 1, 0.98, "slower_kernels"},
                    {ReportOutcome::Part::link, "node0", -1, -1, 0.04, "slow_links"}};
  outcome.groups = {{"data_parallel", 0.12}, {"tensor_parallel", 0.02}};
  outcome.software = {"CUDA/12.8", "NCCL/2.27.5"};
  return outcome;
}

}  // namespace

TEST_CASE("an outcome is read back as it was written") {
  const ReportOutcome wrote = outcome_of_a_slow_rank();
  const auto read = outcome_from_json(to_json(wrote));
  REQUIRE(read);
  CHECK(to_json(*read) == to_json(wrote));
  REQUIRE(read->causes.size() == 2);
  CHECK(read->causes[0].host == "node1");
  CHECK(read->causes[0].device == 1);
  CHECK(read->causes[1].part == ReportOutcome::Part::link);
  CHECK(read->hosts == wrote.hosts);
}

TEST_CASE("an outcome from before groups and software were kept has none of them") {
  auto older = nlohmann::json::parse(to_json(outcome_of_a_slow_rank()));
  older.erase("groups");
  older.erase("software");
  const auto read = outcome_from_json(older.dump());
  REQUIRE(read);
  CHECK(read->groups.empty());
  CHECK(read->software.empty());
}

TEST_CASE("more hosts and causes than are kept are left out when written, and refused when read") {
  ReportOutcome outcome = outcome_of_a_slow_rank();
  outcome.hosts.assign(kMostOutcomeHosts + 1, "node0");
  outcome.causes.assign(kMostOutcomeCauses + 1, outcome.causes[0]);
  const auto read = outcome_from_json(to_json(outcome));
  REQUIRE(read);
  CHECK(read->hosts.size() == kMostOutcomeHosts);
  CHECK(read->causes.size() == kMostOutcomeCauses);
  auto document = nlohmann::json::parse(to_json(outcome));
  document["hosts"].push_back("one more");
  CHECK_FALSE(outcome_from_json(document.dump()));
}

TEST_CASE("an outcome of which any value is absent, of another type or out of bounds is none") {
  const auto good = nlohmann::json::parse(to_json(outcome_of_a_slow_rank()));
  for (const auto& [key, value] : good.items()) {
    for (const nlohmann::json& bad : {nlohmann::json(), nlohmann::json(nlohmann::json::object()), nlohmann::json(-2),
                                      nlohmann::json("line\nbreak")}) {
      auto document = good;
      document[key] = bad;
      INFO(key << " " << bad.dump());
      CHECK_FALSE(outcome_from_json(document.dump()));
    }
    if (key == "groups" || key == "software") continue;
    auto document = good;
    document.erase(key);
    INFO(key);
    CHECK_FALSE(outcome_from_json(document.dump()));
  }
  for (const auto& [key, value] : good["causes"][0].items()) {
    auto document = good;
    document["causes"][0].erase(key);
    INFO(key);
    CHECK_FALSE(outcome_from_json(document.dump()));
  }
  for (const char* text : {"", "null", "[]", "{", "{}"}) CHECK_FALSE(outcome_from_json(text));
  CHECK_FALSE(outcome_from_json(std::string(kMostOutcomeBytes + 1, ' ')));
}
