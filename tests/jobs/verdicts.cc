// What an engineer reads first, over simulated jobs whose fault is known: the right cause, the right repair, and nobody
// accused where nobody is at fault.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include "skewscope/correlate.h"
#include "skewscope/report.h"
#include "skewscope/simulate.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::Folder;

namespace {

JobReport report_of_folder(const std::filesystem::path& folder) {
  StageTimer timer;
  auto report = correlate({folder.string()}, {}, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

// The first lines of the summary, each text in one line.
std::string words_about(const SimulateOptions& job) {
  const Folder folder("verdicts");
  SimulateOptions options = job;
  options.directory = folder.path.string();
  options.cpu_rows_per_kernel = 1;
  REQUIRE(simulate_job(options).ok());
  std::string text = terminal_summary(report_of_folder(folder.path), "", false);
  for (size_t at = text.find("\n           "); at != std::string::npos; at = text.find("\n           ")) {
    text.replace(at, 12, " ");
  }
  return text;
}

std::string versions_finding(const JobReport& report) {
  for (const Finding& finding : report.diagnostics) {
    if (finding.code.text() == "versions-differ") return finding.message;
  }
  return "";
}

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("a slow link is named by its group and its bandwidth, not by a rank that waits behind it") {
  SimulateOptions job;
  job.nodes = 4;
  job.slow_links = {{6, 3.0}};
  job.seed = 42;
  const std::string text = words_about(job);
  INFO(text);
  CHECK(says(text, "(ranks 2, 6, 10, 14) moves 14.7 GB/s where similar groups move 4"));
  CHECK(says(text, "Next       Check the links of ranks 2, 6, 10, 14"));
  CHECK_FALSE(says(text, "probably causes"));
}

TEST_CASE("a slow link stands beside a slow rank") {
  SimulateOptions job;
  job.nodes = 4;
  job.slow_links = {{6, 3.0}};
  job.slow_ranks = {{1, 1.1}};
  const std::string text = words_about(job);
  INFO(text);
  CHECK(says(text, "Rank 1 causes"));
  CHECK(says(text, "the links of ranks 2, 6, 10, 14 (at most 11 %)"));
}

TEST_CASE("a healthy job whose hosts cannot launch fast enough is told so") {
  for (const uint64_t seed : {1, 2, 3}) {
    SimulateOptions job;
    job.layer_compute_ns = 20'000;
    job.launch_factor = 3;
    job.seed = seed;
    const std::string text = words_about(job);
    INFO(text);
    CHECK(says(text, "Fix first: launch-bound GPUs"));
    CHECK(says(text, "Next       Launch fewer, larger kernels"));
    CHECK_FALSE(says(text, "A simulation of the job confirms it"));
  }
}

TEST_CASE("a slow node is named though its waiting is little") {
  SimulateOptions job;
  job.nodes = 4;
  job.steps = 6;
  job.slow_ranks = {{4, 1.05}, {5, 1.05}, {6, 1.05}, {7, 1.05}};
  const std::string text = words_about(job);
  INFO(text);
  CHECK(says(text, "Ranks 4-7 together cause"));
  CHECK(says(text, "their kernels take longer"));
  CHECK(says(text, "These are the ranks of node1"));
}

TEST_CASE("ranks of several nodes that are slow together share no node") {
  SimulateOptions job;
  job.slow_ranks = {{1, 1.1}, {6, 1.1}};
  job.seed = 31;
  const std::string text = words_about(job);
  INFO(text);
  CHECK(says(text, "Ranks 1, 6 together cause"));
  CHECK(says(text, "Look at what these ranks share: input, part of the model, place in the network."));
}

TEST_CASE("where the slow rank's trace is missing it is asked for, however little the others wait") {
  SimulateOptions job;
  job.slow_ranks = {{5, 1.1}};
  job.missing_ranks = {5};
  const std::string text = words_about(job);
  INFO(text);
  CHECK(says(text, "at least"));
  CHECK(says(text, "Next       Add the traces of the missing ranks (5)"));
}

TEST_CASE("beside a missing rank nothing is said of what a suspect computes") {
  SimulateOptions job;
  job.tp = 2;
  job.pp = 2;
  job.steps = 6;
  job.slow_ranks = {{2, 1.3}};
  job.missing_ranks = {2};
  const std::string text = words_about(job);
  INFO(text);
  CHECK_FALSE(says(text, "more or other kernels"));
}

TEST_CASE("transfers are what a CPU job without waiting is told to look at") {
  SimulateOptions job;
  job.vendor = TraceVendor::cpu;
  job.tp = 1;
  job.steps = 6;
  job.slow_links = {{3, 3.0}};
  const std::string text = words_about(job);
  INFO(text);
  CHECK(says(text, "Next       Overlap all_reduce with computing"));
}

TEST_CASE("a healthy job accuses nobody") {
  for (const uint64_t seed : {1, 2, 3}) {
    SimulateOptions job;
    job.seed = seed;
    const std::string text = words_about(job);
    INFO(text);
    CHECK(says(text, "No rank is a clear straggler"));
  }
}

TEST_CASE("a rank whose library has another version is named") {
  const Folder folder("software");
  SimulateOptions job;
  job.directory = (folder.path / "job").string();
  job.nodes = 1;
  job.gpus_per_node = 4;
  job.tp = 1;
  job.steps = 2;
  REQUIRE(simulate_job(job).ok());
  using Software = std::vector<std::string>;
  const JobReport alike = report_of_folder(job.directory);
  CHECK(alike.job.software == Software{"CUDA-driver/12.8", "CUDA/12.8", "NCCL/2.27.5"});
  CHECK(versions_finding(alike) == "");

  const std::filesystem::path trace = folder.path / "job" / "rank3_trace.json";
  std::ifstream in(trace);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  text.replace(text.find("2.27.5"), 6, "2.26.2");
  std::ofstream(trace) << text;
  const JobReport different = report_of_folder(job.directory);
  CHECK(different.job.software == Software{"CUDA-driver/12.8", "CUDA/12.8", "NCCL/2.26.2", "NCCL/2.27.5"});
  CHECK(versions_finding(different) == "NCCL 2.26.2 on rank 3, NCCL 2.27.5 on ranks 0-2");
}
