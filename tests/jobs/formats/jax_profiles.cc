// Profiles of JAX: of a simulated job, whose Kineto traces they must equal; of a recorded one, whose truth.json tells
// what it ran.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "skewscope/ingest.h"
#include "skewscope/matching.h"
#include "skewscope/simulate.h"
#include "tests/temporary_folder.h"

using namespace skewscope;  // NOLINT

namespace {

struct Figures {
  std::map<int32_t, std::pair<size_t, int64_t>> rows_and_ns;  // by rank
  std::map<std::string, int64_t> instances;                   // whole ones, by kind
  int64_t bytes = 0;                                          // of all instances
  size_t calls = 0, left = 0;
  std::map<int32_t, std::vector<int64_t>> steps;
  int32_t world = 0;
  friend bool operator==(const Figures&, const Figures&) = default;
};

Figures figures_of(const std::string& folder) {
  StageTimer timer;
  const IngestOptions options;
  const auto files = discover_files({folder});
  const auto job = ingest_job(files.value(), options, timer, alone());
  REQUIRE(job.ok());
  const JobTrace& trace = job.value().job;
  Figures figures;
  figures.world = trace.world_size;
  for (const RankTrace& rank : trace.traces) {
    auto& [rows, ns] = figures.rows_and_ns[rank.rank.value];
    rows = rank.gpu.size();
    for (const int64_t duration : rank.gpu.duration_ns) ns += duration;
    figures.calls += rank.calls.size();
    for (const StepRange& step : rank.steps) figures.steps[rank.rank.value].push_back(step.number);
  }
  const InstanceTable table = match_collectives(trace);
  for (const CollectiveInstance& instance : table.instances) {
    figures.left += instance.complete ? 0 : 1;
    figures.bytes += instance.bytes;
    ++figures.instances[to_string(instance.kind)];
  }
  return figures;
}

void check_equal_in_both(SimulateOptions options) {
  options.steps = 3;
  options.style = TraceStyle::era_e;
  const test::Folder kineto("kineto"), profiles("profiles");
  options.force = true;
  options.directory = kineto.path.string();
  REQUIRE(simulate_job(options).ok());
  options.format = "xplane";
  options.directory = profiles.path.string();
  REQUIRE(simulate_job(options).ok());
  const Figures expected = figures_of(kineto.path.string()), found = figures_of(profiles.path.string());
  CHECK(expected.left == 0);
  CHECK(found == expected);
}

}  // namespace

TEST_CASE("profiles of JAX of a simulated job hold the rows, calls, steps and collectives of its Kineto traces") {
  check_equal_in_both({});
}

TEST_CASE("so do those of a job with a pipeline, and of one whose experts exchange tokens") {
  SimulateOptions pipeline;
  pipeline.tp = pipeline.pp = 2;
  pipeline.micro_batches = 4;
  check_equal_in_both(pipeline);
  SimulateOptions experts;
  experts.experts = 2;
  check_equal_in_both(experts);
}

TEST_CASE("profiles of hosts that lie in folders seconds apart, as JAX names them, are one job") {
  SimulateOptions options;
  options.steps = 3;
  options.format = "xplane";
  const test::Folder job("profiles_apart");
  options.directory = job.path.string();
  REQUIRE(simulate_job(options).ok());
  const Figures together = figures_of(job.path.string());
  for (const char* const node : {"0", "1"}) {
    const auto folder = job.path / "plugins" / "profile" / (std::string("2026_11_28_10_00_0") + node);
    std::filesystem::create_directories(folder);
    const std::string name = std::string("node") + node + ".xplane.pb";
    std::filesystem::rename(job.path / name, folder / name);
  }
  CHECK(together.world == 8);
  CHECK(figures_of(job.path.string()) == together);
}

TEST_CASE("in four recorded processes of JAX all collectives of all five steps are whole, one of them slow or not") {
  for (const char* set : {"even", "slow_process"}) {
    const Figures figures = figures_of(std::string(SKEWSCOPE_SOURCE_DIR "/tests/data/jax/") + set);
    CHECK(figures.world == 4);
    CHECK(figures.calls == 100);
    CHECK(figures.left == 0);
    // collectives_per_step of truth.json; each device of the permutation sends to the next one.
    CHECK(figures.instances ==
          std::map<std::string, int64_t>{
              {"all_gather", 5}, {"all_reduce", 5}, {"all_to_all", 5}, {"coalesced", 5}, {"reduce_scatter", 5}});
    for (const auto& [rank, steps] : figures.steps) CHECK(steps == std::vector<int64_t>{0, 1, 2, 3, 4});
  }
}
