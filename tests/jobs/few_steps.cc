// What a trace of one or two steps, or --steps of so many, says of clocks: error bars hold the true ones, or the clocks
// are said to be of different components. Pipelines over nodes whose clocks are 50 ms apart share a message or two per
// pair of ranks and one all-reduce a step.
#include <catch2/catch.hpp>
#include <optional>

#include "tests/jobs/clock_truth.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::ClockScore;
using skewscope::test::ClockTruth;
using skewscope::test::Folder;
using skewscope::test::split;

namespace {

#if SKEWSCOPE_SANITIZE
constexpr uint64_t kSeeds = 3;
#else
constexpr uint64_t kSeeds = 20;
#endif

SimulateOptions pipeline(const Folder& folder, int32_t steps, uint64_t seed) {
  SimulateOptions o;
  o.directory = folder.path.string();
  o.force = o.digests = true;
  o.nodes = o.pp = o.layers = 4;
  o.gpus_per_node = o.tp = 2;
  o.steps = steps;
  o.clock_offset_ms = 50;
  o.clock_drift_ppm = 10;
  o.seed = seed;
  return o;
}

ClockScore score_seeds(int32_t recorded, std::optional<StepNumbers> steps) {
  ClockScore score;
  const Folder folder("few_steps");
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const SimulateOptions options = pipeline(folder, recorded, seed);
    const CorrelatedJob job = split(options, steps);
    const ClockTruth truth(options.directory);
    truth.score_clocks(job, score);
    truth.score_calls(job, score);
    score.longest_ns = std::max(score.longest_ns, job.clocks.window_ns);
  }
  return score;
}

}  // namespace

TEST_CASE("clocks of one or two steps of a pipeline over four nodes are held by their bars, and no pair is wrong") {
  struct Case {
    int32_t recorded;
    std::optional<StepNumbers> steps;
  };
  for (const Case& one : {Case{1, {}}, Case{2, {}}, Case{3, StepNumbers{100, 101}}}) {
    const ClockScore score = score_seeds(one.recorded, one.steps);
    INFO(one.recorded << " steps recorded" << (one.steps ? ", one asked for" : ""));
    CHECK(100 * score.held >= 95 * score.tied);
    CHECK(score.wrong == 0);
    // They share enough: of eight ranks seven are tied to the first.
    CHECK(8 * score.tied == 7 * score.clocks);
    CHECK(score.matched == score.calls);
    CHECK(score.longest_ns < 45'000'000);  // steps of some 15 ms, no difference of clocks
  }
}

TEST_CASE("steps that were asked for are read on the clocks of all steps") {
  const Folder folder("slices");
  const SimulateOptions options = pipeline(folder, 4, 7);
  const CorrelatedJob all = split(options, std::nullopt);
  int64_t members = 0, rows = 0;
  for (int64_t step = 100; step < 104; ++step) {
    const CorrelatedJob one = split(options, StepNumbers{step, step + 1});
    members += std::ssize(one.instances.members);
    for (size_t t = 0; t < one.job.traces.size(); ++t) {
      const TraceIndex trace(static_cast<int64_t>(t));
      const LocalNs at = one.job[trace].first_event;
      CHECK(std::llabs(one.clocks.to_job(trace, at) - all.clocks.to_job(trace, at)) <= 1);
      CHECK(one.clocks.clocks[t].uncertainty_ns == all.clocks.clocks[t].uncertainty_ns);
      REQUIRE(one.job.traces[t].steps.size() == 1);
      rows += static_cast<int64_t>(one.job.traces[t].gpu.size());
    }
  }
  int64_t all_rows = 0;
  for (const RankTrace& trace : all.job.traces) all_rows += static_cast<int64_t>(trace.gpu.size());
  CHECK(members == std::ssize(all.instances.members));  // slices share no collective and lose none
  CHECK(rows == all_rows);
}
