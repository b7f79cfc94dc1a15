#include "src/gather/history/compare_runs.h"

#include <catch2/catch.hpp>

using namespace skewscope;
using namespace skewscope::gather;

namespace {

Run run_with(const std::string& job, std::vector<std::string> software, std::vector<ReportOutcome::Group> groups = {}) {
  Run run;
  run.job = job;
  run.outcome.software = std::move(software);
  run.outcome.groups = std::move(groups);
  return run;
}

}  // namespace

TEST_CASE("a library that both runs name in other versions has changed") {
  const Run older = run_with("a", {"CUDA/12.8", "CUDA-driver/12.8", "NCCL/2.27.5"});
  CHECK(software_changes(older, run_with("b", {"CUDA/12.8", "CUDA-driver/13.0", "NCCL/2.28.9"})) ==
        std::vector<std::string>{"CUDA-driver 12.8 → 13.0", "NCCL 2.27.5 → 2.28.9"});
  CHECK(software_changes(older, older).empty());
}

TEST_CASE("a library that one of the runs does not name has not changed") {
  CHECK(software_changes(run_with("a", {"NCCL/2.27.5"}), run_with("b", {"CUDA/13.0"})).empty());
  CHECK(software_changes(run_with("a", {}), run_with("b", {"CUDA/13.0"})).empty());
  CHECK(software_changes(run_with("a", {"?"}), run_with("b", {"?"})).empty());
}

TEST_CASE("ranks that differ within a run have both versions") {
  CHECK(software_changes(run_with("a", {"NCCL/2.27.5"}), run_with("b", {"NCCL/2.27.5", "NCCL/2.28.9"})) ==
        std::vector<std::string>{"NCCL 2.27.5 → 2.27.5 and 2.28.9"});
}

TEST_CASE("the group that cost most in most of the last runs is told with the run since which it does") {
  // The newest first: dp in six of the last eight, since run-2; tp before and in run-4.
  std::vector<Run> runs;
  for (const int number : {8, 7, 6, 5, 4, 3, 2, 1, 0}) {
    const bool of_dp = number >= 2 && number != 4;
    runs.push_back(run_with("run-" + std::to_string(number), {},
                            {{of_dp ? "dp" : "tp", 0.1 + 0.01 * number}, {of_dp ? "tp" : "dp", 0.02}}));
  }
  const auto record = costliest_group(runs);
  REQUIRE(record);
  CHECK(record->group == "dp");
  CHECK(record->recent == kRecentJobs);
  CHECK(record->costliest == 6);
  CHECK(sentence_of(*record) ==
        "Group dp cost most in 6 of the last 8 runs, since run-2: 18.0 % of GPU time in the newest of them.");
}

TEST_CASE("a group that costs next to nothing, or was it once, is not told") {
  const std::vector<ReportOutcome::Group> little = {{"dp", 0.004}}, much = {{"dp", 0.3}};
  CHECK_FALSE(costliest_group({run_with("b", {}, little), run_with("a", {}, little)}));
  CHECK_FALSE(costliest_group({run_with("b", {}, much), run_with("a", {}, little)}));
  CHECK_FALSE(costliest_group({run_with("b", {}), run_with("a", {})}));
  CHECK_FALSE(costliest_group({}));
}
