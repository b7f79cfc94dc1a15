// Documents over several runs, and a report directory read back.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "hand_built.h"
#include "skewscope/base/text_columns.h"
#include "src/report/tables/run_tables.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

ScaleReport scale_report() {
  ScaleReport r;
  r.evidence = "computing per rank fell";
  ScaleReport::Run small, large;
  small.name = "run8";
  small.world_size = 8;
  small.steps = 10;
  small.step_ns = 70'000'000.4;
  small.step_error_ns = 44'000;
  small.speedup = small.throughput_per_gpu = small.global = small.computation_scaling = 1;
  large = small;
  large.name = "run\xFF<16>";
  large.world_size = 16;
  large.speedup = 1.5;
  large.speedup_error = 0.01;
  large.efficiency.parallel = 0.75;
  large.global = 0.7;
  r.runs = {small, large};
  ScaleReport::Cause cause;
  cause.kind = LossCause::communicator;
  cause.communicator = "DATA_PARALLEL_GROUP";
  cause.communicators = {3};
  cause.op = "all_reduce";
  cause.points = 29;
  cause.after_ns = 1'000'000;
  ScaleReport::Loss loss;
  loss.to = 1;
  loss.factor = ScaleFactor::transfer;
  loss.tree = FactorTree::pop;
  loss.before = 1;
  loss.after = 0.7;
  loss.points = 30;
  loss.causes = {cause};
  cause.kind = LossCause::other;
  cause.communicators.clear();
  cause.communicator = cause.op = "";
  cause.points = 1;
  loss.causes.push_back(cause);
  r.losses = {loss};
  r.projection.model = "step = a + b / P";
  r.projection.refusal = "2 sizes are too few for a fit: four are needed";
  return r;
}

CompareReport compare_report() {
  CompareReport r;
  r.base.name = "yesterday";
  r.now.name = "today";
  r.base.world_size = r.now.world_size = 2;
  r.base.steps = r.now.steps = 10;
  r.base.step_ns = r.step.base_ns = 1'000'000;
  r.now.step_ns = r.step.new_ns = 1'100'000;
  r.step.p_value = 0.001;
  r.step.significant = true;
  CompareReport::Change change = r.step;
  r.parts = {{TimePart::compute, change}};
  r.ranks = {{1, TimePart::compute, change}};
  r.collectives = {{0, "default_pg", {0, 1}, "all_reduce", "float", 4096, TimePart::wait, change}};
  r.communicators = {{0, "default_pg", {0, 1}, "", "", 0, TimePart::wait, change}};
  change.p_value = -1;
  r.kernels = {{"gemm", change}};
  return r;
}

template <class Report>
bool holds(const Report& report, const std::string& expression) {
  const auto result = check_rule(report, expression);
  INFO(expression);
  REQUIRE(result.ok());
  return result.value().verdict == RuleOutcome::Verdict::failed;
}

void check_fits(const std::string& text, int64_t most_lines) {
  CHECK(std::count(text.begin(), text.end(), '\n') <= most_lines);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    CHECK(text_width(text.substr(begin, end - begin)) <= 80);
    begin = end + 1;
  }
}

}  // namespace

TEST_CASE("scale.json and compare.json follow their schemas") {
  if (!has_jsonschema()) {
    WARN("skipped: no python3-jsonschema");
    return;
  }
  CHECK(schema_violation("scale", to_json(scale_report(), kStamp)) == "");
  CHECK(schema_violation("compare", to_json(compare_report(), kStamp)) == "");
  CHECK(schema_violation("compare", to_json(CompareReport(), kStamp)) == "");
  auto scale = nlohmann::json::parse(to_json(scale_report(), kStamp));
  scale["runs"][0].erase("speedup");
  CHECK(schema_violation("scale", scale.dump()) != "");
}

TEST_CASE("summaries over runs fit 35 lines of 80 columns and name the cause") {
  const std::string scale = terminal_summary(scale_report(), "out", false);
  check_fits(scale, 35);
  CHECK(scale.find("all_reduce in DATA_PARALLEL_GROUP (group 3)") != std::string::npos);
  CHECK(scale.find("none: 2 sizes are too few") != std::string::npos);
  const std::string compare = terminal_summary(compare_report(), "out", false);
  check_fits(compare, 35);
  CHECK(compare.find("1.00 ms -> 1.10 ms per step: 10.0 % slower (p 0.001)") != std::string::npos);
  CHECK(compare.find("rank 1 compute") != std::string::npos);
}

TEST_CASE("compare says how many times where a step takes at least twice or at most half as long") {
  CompareReport r = compare_report();
  r.now.step_ns = r.step.new_ns = 15'100'000;
  CHECK(terminal_summary(r, "", false).find("15.1 times as long (p 0.001)") != std::string::npos);
  r.now.step_ns = r.step.new_ns = 500'000;
  CHECK(terminal_summary(r, "", false).find("2.00 times as fast (p 0.001)") != std::string::npos);
  r.now.step_ns = r.step.new_ns = 600'000;
  CHECK(terminal_summary(r, "", false).find("40.0 % faster (p 0.001)") != std::string::npos);
}

TEST_CASE("rows that may be chance are not among those that compare shows") {
  CompareReport r = compare_report();
  CHECK(terminal_summary(r, "", false).find("rank 1 compute") != std::string::npos);
  r.ranks[0].change.significant = false;
  CHECK(terminal_summary(r, "", false).find("rank 1 compute") == std::string::npos);
  r.ranks[0].change.p_value = -1;
  CHECK(terminal_summary(r, "", false).find("rank 1 compute") != std::string::npos);
}

TEST_CASE("two different jobs are not comparable, and nothing is called slower or significant") {
  CompareReport r = compare_report();
  r.comparable = false;
  r.diagnostics = {finding_of_job(Severity::warning, kStepsNotComparable, "two different jobs: other programs")};
  const std::string text = terminal_summary(r, "out", false);
  check_fits(text, 35);
  CHECK(text.rfind("Verdict    Not comparable, two different jobs: other programs\n", 0) == 0);
  for (const char* word : {"slower", "significant", "chance", "rank 1 compute", "Warning"}) {
    CHECK(text.find(word) == std::string::npos);
  }
}

TEST_CASE("reports over runs are directories as whole as a report's, and are replaced only as such") {
  const ScratchDirectory scratch;
  const WriteOptions once{scratch / "out", false, {}}, again{scratch / "out", true, {}};
  REQUIRE(write_scale(scale_report(), kStamp, once).ok());
  CHECK(read_file(scratch / "out/COMPLETE") == "skewscope.scale/1\n");
  CHECK(read_file(scratch / "out/scale.json") == to_json(scale_report(), kStamp));
  CHECK(read_file(scratch / "out/tables/losses.csv") ==
        "from,to,tree,factor,before,after,points\n8,16,pop,transfer,1,0.7,30\n");
  CHECK(read_file(scratch / "out/index.html").find("\"schema\":\"skewscope.scale-page/1\"") != std::string::npos);
  REQUIRE(write_compare(compare_report(), kStamp, once).ok());
  CHECK(std::filesystem::exists(scratch / "out/compare.json"));
  CHECK_FALSE(std::filesystem::exists(scratch / "out/scale.json"));
  CHECK(read_file(scratch / "out/index.html").find("\"schema\":\"skewscope.compare-page/1\"") != std::string::npos);
  std::filesystem::remove(scratch / "out/COMPLETE");
  CHECK_FALSE(write_report(job_of(2).report(), kStamp, once).ok());
  REQUIRE(write_report(job_of(2).report(), kStamp, again).ok());
  write_file(scratch / "out/notes.txt", "mine");
  CHECK_FALSE(write_report(job_of(2).report(), kStamp, once).ok());
  CHECK_FALSE(write_report(job_of(2).report(), kStamp, again).ok());
  CHECK(read_file(scratch / "out/notes.txt") == "mine");
}

TEST_CASE("a condition takes the path of any number of a document") {
  const ScaleReport scale = scale_report();
  CHECK(holds(scale, "runs[world_size=16].global<75%"));
  CHECK_FALSE(holds(scale, "runs[world_size=8].global<75%"));
  CHECK(holds(scale, "runs[*].speedup>=1.5"));
  CHECK(holds(scale, "losses[0].causes[communicator=DATA_PARALLEL_GROUP,op=all_reduce].points > 20"));
  CHECK(holds(compare_report(), "regression>5%"));
  CHECK(holds(compare_report(), "significant_regression>9.9%"));
  CHECK_FALSE(holds(compare_report(), "regression>10.1%"));
  HandBuilt built = job_of(2);
  add_all_reduce(built, {0, 3000}, 10000, 4000);
  const JobReport job = built.report();
  CHECK(holds(job, "ranks[1].idle_ns==100000"));
  CHECK(holds(job, "ranks[rank=0].wait_ns==3000"));
  CHECK(holds(job, "collectives[op=all_reduce].wait_ns.p99>=3000"));
  CHECK(holds(job, "efficiency.parallel<=0.6"));
}

TEST_CASE("what is not determined, or not there, fulfils no condition on a path") {
  CHECK_FALSE(holds(scale_report(), "runs[0].efficiency.parallel<1"));  // null
  CHECK_FALSE(holds(scale_report(), "runs[7].speedup>0"));
  CHECK_FALSE(holds(scale_report(), "runs[world_size=32].speedup>0"));
  CHECK_FALSE(holds(JobReport(), "ranks[*].idle_ns>=0"));
}

TEST_CASE("a path that leads nowhere is a usage error") {
  for (const char* expression :
       {"runs>1", "runs[0].nam>1", "runs[0].name>1", "runs[].speedup>1", "runs[0.speedup>1", "runs[0]speedup>1",
        "runs[x].speedup>1", "scaling[0]>1", "runs.speedup>1", "runs[0].speedup.x>1", ".runs>1",
        "runs[size=8].speedup>1", "run[0].speedup>1", "runs[0]..speedup>1", "[0]>1"}) {
    const auto result = check_rule(scale_report(), expression);
    INFO(expression);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().kind == ErrorKind::usage);
  }
}

TEST_CASE("a report directory read back says the same of what runs are compared by") {
  const ScratchDirectory scratch;
  HandBuilt built = job_of(2);
  add_all_reduce(built, {0, 3000}, 10000, 4000, 7);
  for (RankTrace& trace : built.job.traces) trace.steps = {{7, LocalNs{1'000'400}, 300}};
  built.decomposition.step_basis = StepBasis::gpu;
  built.decomposition.steps = {{SessionId(0), 7, JobNs{1'000'500}, 20'000, 2, 40, 6, JobNs{1'000'400}, 300}};
  built.decomposition.trace_steps = {{0, TraceIndex(0), {1, 2, 3, 4, 5, 6}, 7, LocalNs{1'000'500}, 20, 3},
                                     {0, TraceIndex(1), {7, 8, 9, 10, 11, 12}, 7, LocalNs{1'000'500}, 20, 3}};
  JobReport report = built.report();
  report.rank_statistics = {{"kernels", "=a \"b\",\nc", "total_ns", 2, 5, 9, 7.5, 0, 1, {}}};
  REQUIRE(write_report(report, kStamp, {scratch / "out", false, {}}).ok());
  REQUIRE(is_report(scratch / "out"));
  const auto loaded = load_report(scratch / "out");
  REQUIRE(loaded.ok());
  const JobReport& back = loaded.value();
  CHECK(back.job.world_size == 2);
  CHECK(back.communicators[0].desc == report.communicators[0].desc);
  CHECK(back.ranks[1].compute_ns == report.ranks[1].compute_ns);
  CHECK(back.collectives[0].exposed_wait_ns == 3000);
  CHECK(back.efficiency.parallel == report.efficiency.parallel);
  CHECK(back.efficiency.transfer == -1);
  REQUIRE(back.steps.size() == 1);
  CHECK(back.steps[0].start_ns == 500);
  CHECK(back.steps[0].duration_ns == 20'000);
  CHECK(back.job.step_basis == StepBasis::gpu);
  CHECK(back.steps[0].gpu_rows == 40);
  CHECK(back.steps[0].collectives == 6);
  CHECK(back.steps[0].host_start_ns == 400);
  CHECK(back.steps[0].host_duration_ns == 300);
  REQUIRE(back.rank_steps.size() == 2);
  CHECK(back.rank_steps[1].rank == 1);
  CHECK(back.rank_steps[1].step == 7);
  CHECK(back.rank_steps[1].exposed_memcpy_ns == 11);
  REQUIRE(back.collective_steps.size() == 1);
  CHECK(back.collective_steps[0].op == CollectiveKind::all_reduce);
  CHECK(back.collective_steps[0].calls == 2);
  CHECK(back.collective_steps[0].wait_ns == 3000);
  REQUIRE(back.rank_statistics.size() == 1);
  CHECK(back.rank_statistics[0].key == "=a \"b\",?c");
  CHECK(back.rank_statistics[0].median == 7.5);
}

TEST_CASE("a report of before, without sessions, the verdict's kind and empty sizes, can be compared by") {
  const ScratchDirectory scratch;
  HandBuilt built = job_of(2);
  add_all_reduce(built, {0, 3000}, 10000, 4000);
  REQUIRE(write_report(built.report(), kStamp, {scratch / "out", false, {}}).ok());
  auto document = nlohmann::json::parse(read_file(scratch / "out/report.json"));
  document["job"].erase("sessions");
  document["verdict"].erase("kind");
  document["verdict"].erase("ranks");
  write_file(scratch / "out/report.json", document.dump());
  const std::string columns =
      "communicator,op,dtype,bytes,session,step,calls,wait_ns,transfer_ns,exposed_wait_ns,"
      "exposed_transfer_ns\n";
  write_file(scratch / "out/tables/collective_steps.csv",
             columns + "0,all_reduce,float32,0,0,7,2,3,4,3,4\n" + "0,all_reduce,float32,,0,8,2,3,4,3,4\n");
  const auto loaded = load_report(scratch / "out");
  REQUIRE(loaded.ok());
  CHECK(loaded.value().job.sessions == 1);
  REQUIRE(loaded.value().collective_steps.size() == 2);
  CHECK(loaded.value().collective_steps[0].bytes == 0);
  CHECK(loaded.value().collective_steps[1].bytes == 0);  // as it is written now
  CHECK(loaded.value().collective_steps[1].step == 8);
}

TEST_CASE("a report.json is read as its report: with the tables next to it, or alone without") {
  const ScratchDirectory scratch;
  HandBuilt built = job_of(2);
  add_all_reduce(built, {0, 3000}, 10000, 4000, 7);
  JobReport report = built.report();
  report.rank_statistics = {{"kernels", "gemm", "total_ns", 2, 5, 9, 7.5, 0, 1, {}}};
  REQUIRE(write_report(report, kStamp, {scratch / "out", false, {}}).ok());
  write_file(scratch / "base.json", read_file(scratch / "out/report.json"));
  write_file(scratch / "trace.json", "{\"schemaVersion\": 1, \"traceEvents\": []}");
  CHECK(is_report(scratch / "out/report.json"));
  CHECK(is_report(scratch / "base.json"));
  CHECK_FALSE(is_report(scratch / "trace.json"));
  CHECK_FALSE(is_report(scratch / "none.json"));
  const auto whole = load_report(scratch / "out/report.json"), alone = load_report(scratch / "base.json");
  REQUIRE(whole.ok());
  REQUIRE(alone.ok());
  CHECK(whole.value().rank_statistics.size() == 1);
  CHECK(alone.value().rank_statistics.empty());
  CHECK(alone.value().ranks[1].compute_ns == report.ranks[1].compute_ns);
}

TEST_CASE("a report that cannot be compared by says what it lacks") {
  const ScratchDirectory scratch;
  const JobReport report = job_of(2).report();
  const auto message = [&](const std::string& name) {
    const auto loaded = load_report(scratch / name);
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.error().kind == ErrorKind::no_input);
    return loaded.error().message;
  };
  REQUIRE(write_report(report, kStamp, {scratch / "tables_only", false, {"csv"}}).ok());
  CHECK(message("tables_only").find("holds no report.json") != std::string::npos);
  REQUIRE(write_report(report, kStamp, {scratch / "cut", false, {"json"}}).ok());
  const std::string text = read_file(scratch / "cut/report.json");
  write_file(scratch / "cut/report.json", text.substr(0, text.size() / 2));
  CHECK(message("cut").find("cannot be read") != std::string::npos);
  write_file(scratch / "cut/report.json", R"({"schema": "skewscope.report/1", "steps": 3, "job": []})");
  CHECK(message("cut").find("cannot be read") != std::string::npos);
  write_file(scratch / "cut/report.json", R"({"schema": "skewscope.scale/1"})");
  CHECK(message("cut").find("not of schema") != std::string::npos);
  std::filesystem::remove(scratch / "cut/COMPLETE");
  CHECK(message("cut").find("lacks COMPLETE") != std::string::npos);
}
