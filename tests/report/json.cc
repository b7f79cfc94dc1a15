#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "hand_built.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

HandBuilt full_job() {
  HandBuilt built = job_of(4);
  built.job.world_size = 5;
  add_all_reduce(built, {0, 1000, 2000, 5000}, 15000, 40000, 3);
  add_all_reduce(built, {20000, 21000, -1, 22000}, 27000, 0, 4);
  unsplit(built, add_all_reduce(built, {30000, 31000, 31000, 32000}, 37000, 80000), SplitReason::semantics);
  add_unmatched(built, 2, UnmatchedReason::alone);
  built.job.traces[0].steps = {{3, LocalNs{1'000'000}, 10}, {4, LocalNs{1'000'020}, 10}};
  built.clocks.clocks[2].uncertainty_ns = -1;
  built.clocks.clocks[2].drift_ppb = -123.456;
  Finding finding;
  finding.code = "truncated-file";
  finding.file = "rank0.json";
  finding.rank = Rank(0);
  finding.byte_offset = 1234;
  finding.message = "the text ends in the middle of an event; what came before is kept";
  built.job.findings.push_back(finding);
  return built;
}

}  // namespace

TEST_CASE("report.json of hand-built jobs follows the schema") {
  if (!has_jsonschema()) {
    WARN("skipped: no python3-jsonschema");
    return;
  }
  CHECK(schema_violation("report", to_json(full_job().report(), kStamp)) == "");
  CHECK(schema_violation("report", to_json(job_of(1).report(), kStamp)) == "");
  CHECK(schema_violation("report", to_json(JobReport(), kStamp)) == "");
}

TEST_CASE("the schema knows the rows of all-to-alls and of communication by phase, with what is not known") {
  if (!has_jsonschema()) {
    WARN("skipped: no python3-jsonschema");
    return;
  }
  JobReport report = full_job().report();
  report.all_to_all.resize(2);
  report.all_to_all[0].imbalance = report.all_to_all[0].imbalance_per_call = 1.5;
  report.all_to_all[0].busiest_rank = 1;
  report.all_to_all[0].busiest_share = 0.75;
  report.overlap.resize(2);
  for (JobReport::OverlapRow& row : report.overlap) row.op = CollectiveKind::all_gather;
  report.overlap[0].phase = "backward";
  report.what_if.even_experts_ns = 1;
  CHECK(schema_violation("report", to_json(report, kStamp)) == "");
}

TEST_CASE("the schema knows components of which each is told by itself, and ranks that are compared with nobody") {
  if (!has_jsonschema()) {
    WARN("skipped: no python3-jsonschema");
    return;
  }
  JobReport report = full_job().report();
  report.components = {{0, {0, 1}, 900}, {0, {2, 3}, 800}, {0, {4}, 700}};
  report.islands.resize(2);
  report.islands[0].ranks = {0, 1};
  report.islands[0].steps = report.steps;
  report.islands[1].ranks = {2, 3};
  report.islands[1].component = 1;
  const std::string text = to_json(report, kStamp);
  CHECK(schema_violation("report", text) == "");
  const auto json = nlohmann::json::parse(text);
  CHECK(json["components"][0]["told"]["steps"].size() == report.steps.size());
  CHECK(json["components"][1]["told"].is_object());
  CHECK(json["components"][2]["told"].is_null());
}

TEST_CASE("the schema refuses a report that lacks a field or has one too many") {
  if (!has_jsonschema()) {
    WARN("skipped: no python3-jsonschema");
    return;
  }
  auto json = nlohmann::json::parse(to_json(full_job().report(), kStamp));
  auto less = json, more = json, fraction = json;
  less["matching"].erase("calls");
  more["job"]["extra"] = 1;
  fraction["ranks"][0]["wait_ns"] = 0.5;
  CHECK(schema_violation("report", less.dump()) != "");
  CHECK(schema_violation("report", more.dump()) != "");
  CHECK(schema_violation("report", fraction.dump()) != "");
}

TEST_CASE("report.json keeps the order of its schema and says null where nothing is known") {
  const auto json = nlohmann::ordered_json::parse(to_json(full_job().report(), kStamp));
  std::vector<std::string> names;
  for (const auto& item : json.items()) names.push_back(item.key());
  CHECK(names ==
        std::vector<std::string>{"schema",     "tool_version",    "command",       "created_utc", "job",
                                 "clocks",     "components",      "communicators", "ranks",       "collectives",
                                 "stragglers", "efficiency",      "matching",      "diagnostics", "what_if",
                                 "pipeline",   "steps",           "verdict",       "losses",      "jobs_found",
                                 "overlap",    "overlap_modules", "all_to_all",    "transports",  "trend"});
  CHECK(json["schema"] == "skewscope.report/1");
  CHECK(json["clocks"][2]["uncertainty_ns"].is_null());
  CHECK(json["clocks"][2]["drift_ppb"] == -123.456);
  CHECK(json["clocks"][1]["uncertainty_ns"] == 1200);
  CHECK(json["stragglers"][0]["cause"].is_null());
  CHECK(json["stragglers"][0]["cause_share"].is_null());
  CHECK(json["stragglers"][0]["standing"].is_null());
  CHECK(json["what_if"]["balanced_ns"].is_null());
  CHECK(json["efficiency"]["serialization"].is_null());
  CHECK(json["efficiency"]["parallel"] == 0.6);
  CHECK(json["collectives"][2]["wait_ns"].is_null());  // 80000 B: not split
  CHECK(json["collectives"][1]["wait_ns"]["mean"].is_number_integer());
  CHECK(json["job"]["ranks_missing"] == std::vector<int>{4});
}

TEST_CASE("bytes of a trace that are not UTF-8 do not break report.json") {
  HandBuilt built = job_of(2);
  built.job.name = "a\xff\xfe\"b";
  const auto json = nlohmann::json::parse(to_json(built.report(), kStamp));
  CHECK(json["job"]["name"] == "a\xEF\xBF\xBD\xEF\xBF\xBD\"b");
}

TEST_CASE(
    "a job without a pipeline has none in report.json; one with it has its bubble, and null where that is not known") {
  JobReport report = full_job().report();
  const auto json_of = [&] { return nlohmann::json::parse(to_json(report, kStamp)); };
  CHECK(json_of()["pipeline"].is_null());
  CHECK(json_of()["efficiency"]["bubble"].is_null());
  report.pipeline.stages = 2;
  report.pipeline.micro_batches = 4;
  report.pipeline.virtual_stages = 1;
  report.pipeline.schedule = PipelineSchedule::one_f_one_b;
  report.pipeline.window_ns = 1000;
  report.pipeline.by_stage = {{0, {0, 1}, -1, -1}, {1, {2, 3}, -1, -1}};
  CHECK(schema_violation("report", json_of().dump()) == "");
  CHECK(json_of()["pipeline"]["bubble_ns"].is_null());
  CHECK(json_of()["pipeline"]["by_stage"][1]["ranks"] == std::vector<int>{2, 3});
  report.pipeline.bubble_ns = 250;
  report.pipeline.bubble_share = 0.25;
  CHECK(json_of()["pipeline"]["bubble_share"] == 0.25);
  CHECK(schema_violation("report", json_of().dump()) == "");
}
