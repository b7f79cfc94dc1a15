// Folders that hold several jobs: recorded ones side by side, and small ones written by hand, whose waits are known.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "skewscope/correlate.h"
#include "skewscope/report.h"
#include "tests/temporary_folder.h"

using namespace skewscope;

namespace {

namespace fs = std::filesystem;

const fs::path kRecordedJobs = fs::path(SKEWSCOPE_SOURCE_DIR) / "tests" / "data" / "real";

struct JobsOutcome {
  Result<JobReport> report = JobReport();
  std::vector<FoundJob> several;
};

JobsOutcome report_on(const std::vector<std::string>& paths, const std::string& job = "") {
  JobsOutcome outcome;
  CorrelateOptions options;
  options.ingest.job = job;
  options.ingest.several_jobs = [&](const std::vector<FoundJob>& jobs) { outcome.several = jobs; };
  StageTimer timer;
  outcome.report = correlate(paths, options, timer);
  return outcome;
}

std::string recorded_set(const std::string& set) { return (kRecordedJobs / set).string(); }

std::vector<std::string> names_of(const std::vector<FoundJob>& jobs) {
  std::vector<std::string> names;
  for (const FoundJob& job : jobs) names.push_back(job.name);
  std::sort(names.begin(), names.end());
  return names;
}

// report.json but for what names the job and those beside it.
nlohmann::json figures_of(const JobReport& report) {
  nlohmann::json json = nlohmann::json::parse(to_json(report, {}));
  json.erase("jobs_found");
  json["job"].erase("name");
  json.erase("diagnostics");  // another-job
  return json;
}

// A rank of a data parallel job: in each of four steps a GEMM of `compute_us`, then an all-reduce that ends at once for
// all ranks.
struct HandMade {
  int64_t rank = 0, world = 4, start_s = 1'750'000'000;
  double compute_us = 1000, longest_us = 1000;
  int64_t process = 4000;  // of rank 0
};

constexpr double kTransfer_us = 500;
constexpr int kSteps = 4;

std::string text_of(const HandMade& trace, const std::string& more = "") {
  std::string events;
  const auto add = [&](const char* category, const std::string& name, double at_us, double duration_us, int64_t thread,
                       const std::string& args) {
    events += fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "args": {{{}}}}},)",
        category, name, thread < 100 ? 0 : trace.process + trace.rank, thread,
        static_cast<double>(trace.start_s) * 1e6 + at_us, duration_us, args);
    events += "\n";
  };
  std::string members;
  for (int64_t rank = 0; rank < trace.world; ++rank) members += fmt::format("{}{}", rank == 0 ? "" : ", ", rank);
  int64_t correlation = 0;
  for (int step = 0; step < kSteps; ++step) {
    const double at_us = step * 4000, arrives_us = at_us + 100 + trace.compute_us;
    const double leaves_us = at_us + 100 + trace.longest_us + kTransfer_us;
    add("user_annotation", fmt::format("ProfilerStep#{}", step + 5), at_us, 3900, 4000, "");
    add("cuda_runtime", "cudaLaunchKernel", at_us + 50, 5, 4000, fmt::format(R"("correlation": {})", ++correlation));
    add("kernel", "gemm", at_us + 100, trace.compute_us, 7,
        fmt::format(R"("device": 0, "stream": 7, "correlation": {})", correlation));
    add("cpu_op", "record_param_comms", at_us + 58, 10, 4000,
        fmt::format(
            R"("Collective name": "allreduce", "In msg nelems": 4096, "Out msg nelems": 4096, "Group size": {}, )"
            R"("dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[{}]")",
            trace.world, members));
    add("cuda_runtime", "cudaLaunchKernelExC", at_us + 60, 5, 4000, fmt::format(R"("correlation": {})", ++correlation));
    add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", arrives_us,
        leaves_us - arrives_us, 20, fmt::format(R"("device": 0, "stream": 20, "correlation": {})", correlation));
  }
  return fmt::format(R"({{"distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}}, "traceEvents": [)",
                     trace.rank, trace.world) +
         "\n" + events + more + R"({"ph": "M", "name": "end", "pid": 0, "tid": 0, "ts": 0}]})" + "\n";
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

// Ranks `first` to `last` - 1; rank 1 computes `late_us` longer.
void write_job(const fs::path& folder, const std::string& before, int64_t first, int64_t last, HandMade like,
               double late_us) {
  like.longest_us = like.compute_us + late_us;
  for (int64_t rank = first; rank < last; ++rank) {
    HandMade own = like;
    own.rank = rank;
    own.compute_us += rank == 1 ? late_us : 0;
    write(folder / fmt::format("{}{}.json", before, rank), text_of(own));
  }
}

int64_t wait_of(const JobReport& report) {
  int64_t wait_ns = 0;
  for (const JobReport::RankRow& rank : report.ranks) wait_ns += rank.wait_ns;
  return wait_ns;
}

}  // namespace

TEST_CASE("every recorded job is one job, and in one folder they are as many as there are") {
  std::vector<std::string> sets;
  for (const auto& entry : fs::directory_iterator(kRecordedJobs)) {
    if (entry.is_directory()) sets.push_back(entry.path().filename().string());
  }
  std::sort(sets.begin(), sets.end());
  REQUIRE(sets.size() > 20);
  StageTimer timer;
  for (const std::string& set : sets) {
    INFO(set);
    const auto one = ingest_job(discover_files({recorded_set(set)}).value(), {}, timer);
    REQUIRE(one.ok());
    CHECK(one.value().job.jobs_found.size() == 1);
    CHECK(one.value().job.sessions == 1);
  }
  const JobsOutcome all = report_on({kRecordedJobs.string()});
  REQUIRE_FALSE(all.report.ok());
  CHECK(all.report.error().kind == ErrorKind::no_input);
  CHECK(names_of(all.several) == sets);
}

TEST_CASE("of two jobs none is reported unasked, and the one that is named is reported as if it were alone") {
  const std::vector<std::string> both = {recorded_set("ddp"), recorded_set("fsdp2")};
  const JobsOutcome unasked = report_on(both);
  REQUIRE_FALSE(unasked.report.ok());
  CHECK(unasked.report.error().message.starts_with("2 jobs here (ddp, fsdp2): choose one with --job NAME: skewscope"));
  for (const std::string set : {"ddp", "fsdp2"}) {
    INFO(set);
    const JobsOutcome named = report_on(both, set), alone = report_on({recorded_set(set)});
    REQUIRE(named.report.ok());
    CHECK(figures_of(named.report.value()) == figures_of(alone.report.value()));
    REQUIRE(named.report.value().jobs_found.size() == 2);
    for (const FoundJob& job : named.report.value().jobs_found) CHECK(job.reported == (job.name == set));
  }
  CHECK(report_on(both, "ddp3").report.error().kind == ErrorKind::usage);
}

TEST_CASE("files of which the sender said that they are of one job are not divided") {
  CorrelateOptions options;
  options.ingest.job = "training";
  options.ingest.one_job = true;
  StageTimer timer;
  const auto report = correlate({recorded_set("ddp"), recorded_set("fsdp2")}, options, timer);
  REQUIRE(report.ok());
  REQUIRE(report.value().jobs_found.size() == 1);
  CHECK(report.value().jobs_found[0].files == 8);
  CHECK(report.value().job.sessions == 2);
}

TEST_CASE("runs of one program on one machine are told apart by their folders, machines and worlds by any place") {
  for (const auto& [a, b] : {std::pair("ddp", "ddp_host_gap"), std::pair("ddp", "ddp_8"), std::pair("gloo", "ddp"),
                             std::pair("pipeline_interleaved", "pipeline_interleaved_torch")}) {
    CHECK(names_of(report_on({recorded_set(a), recorded_set(b)}).several) == [&, a = a, b = b] {
      std::vector<std::string> names = {a, b};
      std::sort(names.begin(), names.end());
      return names;
    }());
  }
}

TEST_CASE("two engines that write into one folder are reported one by one, with the waits of each") {
  const test::Folder folder("two_engines");
  write_job(folder.path, "dp0_pp0_rank", 0, 2, {0, 2}, 1000);
  write_job(folder.path, "dp1_pp0_rank", 0, 2, {0, 2, 1'750'000'000, 800}, 300);
  CHECK(names_of(report_on({folder.path.string()}).several) == std::vector<std::string>{"dp0", "dp1"});
  const JobsOutcome first = report_on({folder.path.string()}, "dp0"), second = report_on({folder.path.string()}, "dp1");
  REQUIRE(first.report.ok());
  REQUIRE(second.report.ok());
  CHECK(wait_of(first.report.value()) == kSteps * 1'000'000);
  CHECK(wait_of(second.report.value()) == kSteps * 300'000);
}

TEST_CASE("beside a whole run, files of an earlier and larger one are named and left out") {
  const test::Folder folder("left_over");
  write_job(folder.path, "rank", 0, 4, {}, 1000);
  write_job(folder.path, "rank", 4, 8, {0, 8, 1'750'000'000 - 86'400, 1500}, 200);
  const JobsOutcome outcome = report_on({folder.path.string()});
  REQUIRE(outcome.report.ok());
  const JobReport& report = outcome.report.value();
  CHECK(report.job.world_size == 4);
  CHECK(report.job.ranks_missing.empty());
  CHECK(wait_of(report) == kSteps * 3 * 1'000'000);
  CHECK(report.job.window_ns < 1'000'000'000);
  const auto named = std::find_if(report.diagnostics.begin(), report.diagnostics.end(),
                                  [](const Finding& finding) { return finding.code.text() == "another-job"; });
  REQUIRE(named != report.diagnostics.end());
  CHECK(named->message.find("rank 4-7 of a world of 8, recorded 24 h earlier") != std::string::npos);
  CHECK(terminal_summary(report, "", false).find("--job " + outcome.several.at(0).name) != std::string::npos);
  REQUIRE(outcome.several.size() == 2);
  const JobsOutcome old = report_on({folder.path.string()}, outcome.several[0].name);
  REQUIRE(old.report.ok());
  CHECK(old.report.value().job.ranks_present == std::vector<int32_t>{4, 5, 6, 7});
}

TEST_CASE("what another tool has written of a trace is left out, and the trace is used") {
  const test::Folder folder("copies");
  write_job(folder.path, "rank", 0, 4, {}, 1000);
  const JobsOutcome before = report_on({folder.path.string()});
  const HandMade first = {0, 4, 1'750'000'000, 1000, 2000};
  const std::string counter = R"({"ph": "C", "name": "Queue Length", "pid": 0, "tid": 0, "ts": 1750000000000100, )"
                              R"("args": {"7": 1}},)"
                              "\n";
  write(folder.path / "rank0_with_counters.json", text_of(first, counter + counter));
  write(folder.path / "overlaid_critical_path_rank0.json", text_of(first, counter));
  const JobsOutcome after = report_on({folder.path.string()});
  REQUIRE(after.report.ok());
  CHECK(figures_of(after.report.value()) == figures_of(before.report.value()));
  std::vector<std::string> copies;
  for (const Finding& finding : after.report.value().diagnostics) {
    if (finding.code.text() == "copied-trace") copies.push_back(fs::path(finding.file).filename().string());
  }
  CHECK(copies == std::vector<std::string>{"overlaid_critical_path_rank0.json", "rank0_with_counters.json"});
}

TEST_CASE("captures of one job in folders of their own are one job of several sessions") {
  const test::Folder folder("captures");
  for (const int64_t capture : {10, 20, 30}) {
    write_job(folder.path / fmt::format("iteration_{}", capture), "rank", 0, 4, {0, 4, 1'750'000'000 + 3600 * capture},
              1000);
  }
  const JobsOutcome outcome = report_on({folder.path.string()});
  REQUIRE(outcome.report.ok());
  CHECK(outcome.report.value().job.sessions == 3);
  CHECK(outcome.report.value().jobs_found.size() == 1);
  CHECK(wait_of(outcome.report.value()) == 3 * kSteps * 3 * 1'000'000);
}

TEST_CASE("of one script that ran twice into one folder the newest run is reported, and the other named") {
  for (const int64_t later_s : {600, 3600, 86'400}) {
    INFO(later_s);
    const test::Folder folder("rerun");
    write_job(folder.path, "1750000000_rank", 0, 4, {}, 1000);
    HandMade second;
    second.start_s += later_s;
    second.process = 9000;
    write_job(folder.path, fmt::format("{}_rank", second.start_s), 0, 4, second, 300);
    const JobsOutcome outcome = report_on({folder.path.string()});
    REQUIRE(outcome.report.ok());
    const JobReport& report = outcome.report.value();
    CHECK(report.job.sessions == 1);
    CHECK(wait_of(report) == kSteps * 3 * 300'000);
    REQUIRE(outcome.several.size() == 2);
    CHECK(terminal_summary(report, "", false).find("--job " + outcome.several[0].name) != std::string::npos);
    const JobsOutcome first = report_on({folder.path.string()}, outcome.several[0].name);
    REQUIRE(first.report.ok());
    CHECK(wait_of(first.report.value()) == kSteps * 3 * 1'000'000);
  }
}

TEST_CASE("ranks of two runs that share no call are two sets, and no verdict is on both") {
  const test::Folder folder("mixed_runs");
  write_job(folder.path, "rank", 0, 2, {}, 1000);
  HandMade second;
  second.start_s += 600;
  second.process = 9000;
  write_job(folder.path, "rank", 2, 4, second, 1000);
  const JobsOutcome outcome = report_on({folder.path.string()});
  CHECK_FALSE(outcome.report.ok());
  REQUIRE(outcome.several.size() == 2);
  CHECK(outcome.several[0].ranks == std::vector<int32_t>{0, 1});
  CHECK(outcome.several[1].ranks == std::vector<int32_t>{2, 3});
  const JobsOutcome first = report_on({folder.path.string()}, outcome.several[0].name);
  REQUIRE(first.report.ok());
  CHECK(first.report.value().job.ranks_missing == std::vector<int32_t>{2, 3});
}
