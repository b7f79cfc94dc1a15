#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "workplace.h"

using namespace skewscope::test;

namespace {

// Once for all tests: jobs of 4 and 8 ranks, one of 4 ranks with a slow one, and the report of the first.
void make_runs() {
  if (place().has("four.report")) return;
  const std::string job = "simulate --gpus 4 --tp 4 --layers 2 --steps 6 --digests ";
  REQUIRE(place().run(job + "-o four --nodes 1").code == 0);
  REQUIRE(place().run(job + "-o eight --nodes 2").code == 0);
  REQUIRE(place().run(job + "-o slow --nodes 1 --slow-rank 2:1.3").code == 0);
  REQUIRE(place().run("report four -q -o four.report").code == 0);
}

}  // namespace

TEST_CASE("scale takes traces and reports, writes a whole directory and prints its summary") {
  make_runs();
  const Outcome r = place().run("scale eight four.report --weak -o scaled");
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(r.out == place().read("scaled/summary.txt"));
  CHECK(says(r.out, "weak scaling from 4 to 8 ranks"));
  CHECK(place().has("scaled/COMPLETE"));
  const auto json = nlohmann::json::parse(place().read("scaled/scale.json"));
  CHECK(json["schema"] == "skewscope.scale/1");
  CHECK(json["runs"][0]["name"] == "four.report");
  CHECK(json["scaling_given"] == true);
}

TEST_CASE("a report in the place of its traces changes nothing but the name") {
  make_runs();
  auto traces = nlohmann::json::parse(place().run("scale four eight --json").out);
  auto report = nlohmann::json::parse(place().run("scale four.report eight --json").out);
  for (auto* json : {&traces, &report}) {
    for (const char* own : {"command", "created_utc"}) json->erase(own);
    (*json)["runs"][0].erase("name");
  }
  CHECK(traces == report);
}

TEST_CASE("compare finds the slow rank, and a regression fails the build that asks for it") {
  make_runs();
  const Outcome r = place().run("compare four.report slow --fail-on 'regression>5%' --json");
  CHECK(r.code == 1);
  const auto json = nlohmann::json::parse(r.out);
  CHECK(json["regression"] > 0.1);
  CHECK(json["significant_regression"] == json["regression"]);
  for (const auto& row : json["ranks"]) {
    if (row["part"] == "compute") CHECK((row["significant"] == true) == (row["rank"] == 2));
  }
  CHECK(place().run("compare four four -q --fail-on 'regression>5%'").code == 0);
  CHECK(place().run("compare four slow -q --steps 100:101 --fail-on 'significant_regression>0'").code == 0);
}

TEST_CASE("runs that cannot be compared are refused with the exit code of the reason") {
  make_runs();
  CHECK(place().run("scale four").code == 2);
  CHECK(place().run("scale four four.report").code == 2);
  CHECK(place().run("scale four eight --weak --strong").code == 2);
  CHECK(place().run("scale four eight --fail-on 'run[0].speedup>1'").code == 2);
  CHECK(place().run("compare four").code == 2);
  CHECK(place().run("compare four eight").code == 2);
  CHECK(place().run("compare four nowhere").code == 3);
  CHECK(place().run("scale four eight -o four").code == 5);
  CHECK(place().run("report four --json -q --fail-on 'ranks[*].compute_ns>0'").code == 1);
}

TEST_CASE("runs in folders of one name are named by what tells them apart") {
  make_runs();
  for (const char* run : {"a/traces", "b/traces"}) fs::create_directories(place() / run);
  fs::copy(place() / "four", place() / "a/traces", fs::copy_options::recursive);
  fs::copy(place() / "slow", place() / "b/traces", fs::copy_options::recursive);
  const Outcome r = place().run("compare a/traces b/traces --json");
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(says(r.out, "\"name\": \"a/traces\""));
  CHECK(says(r.out, "\"name\": \"b/traces\""));
  const auto scaled = nlohmann::json::parse(place().run("scale a/traces/ eight --json").out);
  CHECK(scaled["runs"][0]["name"] == "traces");
}
