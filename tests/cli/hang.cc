// skewscope hang, as users call it.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "workplace.h"

using namespace skewscope::test;

TEST_CASE("hang names the rank that a simulated job waits for, and exits with 1") {
  REQUIRE(place().run("simulate -o still --nodes 2 --gpus 8 --pp 2 --hang stuck-host").code == 0);
  const auto truth = nlohmann::json::parse(place().read("still/truth.json"));
  const Outcome told = place().run("hang still -o still_report");
  CHECK(told.code == 1);
  CHECK(says(told.out, "Verdict    Rank " + truth["culprit"].dump() + " did not come"));
  CHECK(place().read("still_report/summary.txt") == told.out);
  const Outcome json = place().run("hang still --json");
  CHECK(json.code == 1);
  CHECK(nlohmann::json::parse(json.out)["culprits"][0]["rank"] == truth["culprit"]);
  CHECK(place().run("simulate -o still --hang stuck-host").code == 5);
  CHECK(place().run("simulate -o other --hang nothing").code == 2);
}

TEST_CASE("hang exits with 0 where all calls are completed, and with 3 where no dump is") {
  CHECK(place().run("hang " SKEWSCOPE_SOURCE_DIR "/tests/data/real/fsdp2_recorder").code == 0);
  CHECK(place().run("hang traces").code == 3);
  CHECK(place().run("hang nowhere").code == 3);
  CHECK(place().run("hang traces --rank-regex 'r[0-9]+'").code == 2);
}
