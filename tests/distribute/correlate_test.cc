// Whole jobs in several processes, played by threads: what each reads, and that all come to the one report.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <optional>

#include "skewscope/correlate.h"
#include "skewscope/digest.h"
#include "skewscope/report.h"
#include "skewscope/simulate.h"
#include "tests/temporary_folder.h"
#include "tests/thread_exchange.h"

using namespace skewscope;
using skewscope::test::Folder;
namespace fs = std::filesystem;

namespace {

const ReportStamp kStamp{"0", "skewscope report", "2026-01-02T03:04:05Z"};

struct Outcome {
  std::string json, error;
  int64_t sent_bytes = 0;
};

std::string text_of(const std::vector<JobReport::RankStatistic>& rows) {
  std::string text;
  for (const JobReport::RankStatistic& row : rows) {
    text += row.table + " " + row.key + " " + row.metric + " " + std::to_string(row.ranks) + " " +
            std::to_string(row.min) + " " + std::to_string(row.max) + " of " + std::to_string(row.max_rank) + "\n";
  }
  return text;
}

// `paths_of(process)`: what each was told to read.
template <class PathsOf>
std::vector<Outcome> correlate_in(int32_t processes, const PathsOf& paths_of, std::optional<StepNumbers> steps = {}) {
  return in_processes<Outcome>(processes, [&](ThreadExchange& exchange) {
    StageTimer timer;
    CorrelateOptions options;
    options.rank_tables = RankTableChoice::all;
    options.ingest.steps = steps;
    const Result<JobReport> report = correlate(paths_of(exchange.process()), options, timer, exchange);
    if (!report.ok()) return Outcome{"", report.error().message, exchange.sent_bytes()};
    if (!exchange.first()) return Outcome{"", "", exchange.sent_bytes()};
    return Outcome{to_json(report.value(), kStamp) + text_of(report.value().rank_statistics), "",
                   exchange.sent_bytes()};
  });
}

std::string json_of(int32_t processes, const std::string& directory, std::optional<StepNumbers> steps = {}) {
  const std::vector<Outcome> outcomes = correlate_in(
      processes, [&](int32_t) { return std::vector<std::string>{directory}; }, steps);
  for (const Outcome& outcome : outcomes) CHECK(outcome.error.empty());
  return outcomes.front().json;
}

SimulateOptions small_job(const Folder& folder) {
  SimulateOptions options;
  options.directory = folder.path.string();
  options.nodes = 2;
  options.gpus_per_node = 4;
  options.tp = 2;
  options.steps = 3;
  options.layers = 2;
  options.cpu_rows_per_kernel = 0;
  options.clock_offset_ms = 20;
  options.clock_drift_ppm = 20;
  return options;
}

}  // namespace

TEST_CASE("any number of processes comes to the report that one comes to") {
  const Folder folder("processes");
  SimulateOptions options = small_job(folder);
  SECTION("tensor and data parallel, one rank slow") { options.slow_ranks = {{5, 1.3}}; }
  SECTION("a pipeline: sends and receives") { options.pp = 2; }
  SECTION("no group metadata: communicators are inferred") { options.style = TraceStyle::era_a; }
  SECTION("a missing rank, a late window, lost kernels") {
    options.missing_ranks = {6};
    options.late_windows = {{3, 1}};
    options.lost_kernels = 0.02;
  }
  SECTION("no GPU: the host's ranges are the calls") { options.vendor = TraceVendor::cpu; }
  REQUIRE(simulate_job(options).ok());
  const std::string one = json_of(1, options.directory);
  REQUIRE(!one.empty());
  for (const int32_t processes : {2, 4, 7}) CHECK(json_of(processes, options.directory) == one);
}

TEST_CASE("any number of processes keeps the same steps, on the same clocks") {
  const Folder folder("some_steps");
  SimulateOptions options = small_job(folder);
  options.pp = 2;
  options.late_windows = {{3, 1}};
  REQUIRE(simulate_job(options).ok());
  for (const StepNumbers& steps : {StepNumbers{100, 101}, StepNumbers{101, 102}}) {
    const std::string one = json_of(1, options.directory, steps);
    REQUIRE(!one.empty());
    for (const int32_t processes : {2, 5}) CHECK(json_of(processes, options.directory, steps) == one);
  }
}

TEST_CASE("more processes than files come to the same report") {
  const Folder folder("idle_processes");
  SimulateOptions options = small_job(folder);
  options.nodes = 1;
  options.gpus_per_node = 2;
  REQUIRE(simulate_job(options).ok());
  CHECK(json_of(5, options.directory) == json_of(1, options.directory));
}

TEST_CASE("a damaged file is a finding, whoever reads it") {
  const Folder folder("damaged");
  const SimulateOptions options = small_job(folder);
  REQUIRE(simulate_job(options).ok());
  const fs::path broken = folder.path / "rank3_trace.json";
  REQUIRE(fs::exists(broken));
  fs::resize_file(broken, fs::file_size(broken) / 2);
  std::ofstream(folder.path / "rank9_trace.json") << "no trace at all";
  const std::string one = json_of(1, options.directory);
  CHECK(one.find("rank9_trace.json") != std::string::npos);
  CHECK(json_of(3, options.directory) == one);
}

TEST_CASE("processes that see their own disks alone read what they see") {
  const Folder folder("disks");
  const SimulateOptions options = small_job(folder);
  REQUIRE(simulate_job(options).ok());
  std::vector<std::string> paths[2];
  for (int32_t rank = 0; rank < 8; ++rank) {
    paths[rank / 4].push_back((folder.path / ("rank" + std::to_string(rank) + "_trace.json")).string());
  }
  const std::vector<Outcome> outcomes = correlate_in(3, [&](int32_t p) {
    return p < 2 ? paths[p] : std::vector<std::string>(1, paths[0].front());  // the third shares one with the first
  });
  std::vector<std::string> all = paths[0];
  all.insert(all.end(), paths[1].begin(), paths[1].end());
  const std::string one = correlate_in(1, [&](int32_t) { return all; }).front().json;
  REQUIRE(!one.empty());
  CHECK(outcomes.front().json == one);
}

TEST_CASE("a path that nobody finds, and a job without a trace, are errors of all processes") {
  const Folder folder("nothing");
  fs::create_directories(folder.path);
  std::ofstream(folder.path / "notes.json") << "{}";
  for (const std::string& path : {(folder.path / "absent").string(), folder.path.string()}) {
    const std::vector<Outcome> outcomes = correlate_in(3, [&](int32_t) { return std::vector<std::string>{path}; });
    CHECK(!outcomes.front().error.empty());
    for (const Outcome& outcome : outcomes) CHECK(outcome.error == outcomes.front().error);
  }
}

TEST_CASE("what processes tell each other is small beside what they read") {
  const Folder folder("volume");
  SimulateOptions options = small_job(folder);
  options.steps = 10;
  REQUIRE(simulate_job(options).ok());
  int64_t read = 0, sent = 0;
  for (const auto& file : fs::directory_iterator(folder.path)) read += static_cast<int64_t>(file.file_size());
  const auto paths = [&](int32_t) { return std::vector<std::string>{options.directory}; };
  for (const Outcome& outcome : correlate_in(4, paths)) sent += outcome.sent_bytes;
  INFO(sent << " bytes sent by 4 processes, " << read << " bytes read");
  CHECK(sent < read);
}

TEST_CASE("digests that call their traces by one name are told apart alike, whoever reads which") {
  const Folder folder("processes_one_name");
  SimulateOptions options = small_job(folder);
  options.digests = true;
  REQUIRE(simulate_job(options).ok());
  const std::vector<std::string> digests = discover_files({folder.path.string()}).value();
  for (const std::string& path : digests) {
    std::ifstream in(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    TraceFile file = from_digest(bytes).value();
    file.evidence.file = "trace.json";
    const std::string renamed = to_digest(file);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << renamed;
  }
  const std::string one = json_of(1, folder.path.string());
  CHECK(one.find("\"ranks_missing\": []") != std::string::npos);
  for (const int32_t processes : {2, 4, 7}) CHECK(json_of(processes, folder.path.string()) == one);
}
