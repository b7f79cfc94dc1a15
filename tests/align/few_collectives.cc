// How much may be said of clocks and waits that few collectives speak for? Ends that clocks were fitted to agree with
// them too well. Coverage over many small jobs whose truth is known (clock_job.h).
#include <catch2/catch.hpp>

#include "clock_job.h"
#include "skewscope/align.h"
#include "skewscope/attribute.h"

using namespace skewscope;

namespace {

#if SKEWSCOPE_SANITIZE  // which look at each access, and take ten times as long: too few jobs for close limits
constexpr uint64_t kSmallJobs = 10;
constexpr double kLeastCover = 0.8, kMostWaitErrorUs = 50;
#else
constexpr uint64_t kSmallJobs = 100;
constexpr double kLeastCover = 0.95, kMostWaitErrorUs = 2;
#endif

// Means over jobs.
ClockScore score_small_jobs(ClockJobOptions options) {
  ClockScore mean;
  for (options.seed = 1; options.seed <= kSmallJobs; ++options.seed) {
    const ClockJob truth = make_clock_job(options);
    const ClockModel clocks = align_clocks(truth.job, truth.instances, AlignMode::automatic);
    const Decomposition split = attribute_time(truth.job, truth.instances, clocks);
    const ClockScore score = score_clocks(truth, truth.instances, clocks, split);
    mean.rank_coverage += score.rank_coverage / kSmallJobs;
    mean.wait_coverage += score.wait_coverage / kSmallJobs;
    mean.mean_bar_us += score.mean_bar_us / kSmallJobs;
    mean.wait_mae_us += score.wait_mae_us / kSmallJobs;
  }
  return mean;
}

}  // namespace

TEST_CASE("where few collectives tie the clocks, error bars hold clocks and waits in 95 %") {
  struct Shape {
    int nodes, gpus_per_node, steps, dp_calls;
  };
  const std::vector<Shape> shapes = {
      {8, 1, 1, 1},  // one call is all there is: clocks agree with it, whatever its ends were
      {8, 1, 2, 1}, {8, 1, 3, 1}, {4, 1, 2, 1}, {2, 1, 1, 4}, {2, 8, 1, 1}, {4, 2, 2, 4}, {8, 8, 2, 2},
  };
  for (const double offset_ms : {0.0, 50.0}) {
    for (const Shape& shape : shapes) {
      ClockJobOptions options;
      options.nodes = shape.nodes;
      options.gpus_per_node = shape.gpus_per_node;
      options.steps = shape.steps;
      options.dp_calls = shape.dp_calls;
      options.layers = 2;
      options.node_offset_ms = offset_ms;
      if (offset_ms == 0) options.node_drift_ppm = 0;
      const ClockScore score = score_small_jobs(options);
      INFO(shape.nodes << " nodes of " << shape.gpus_per_node << " GPUs, " << shape.steps << " steps of "
                       << shape.dp_calls << " calls between nodes, clocks " << offset_ms << " ms apart: mean bar "
                       << score.mean_bar_us << " us, mean error of waits " << score.wait_mae_us << " us");
      CHECK(score.rank_coverage >= kLeastCover);
      CHECK(score.wait_coverage >= kLeastCover);
      CHECK(score.mean_bar_us < 45);
    }
  }
}

namespace {

ClockJobOptions small_job(int nodes, int gpus_per_node, int steps, double offset_ms) {
  ClockJobOptions options;
  options.nodes = nodes;
  options.gpus_per_node = gpus_per_node;
  options.steps = steps;
  options.dp_calls = 1;
  options.layers = 2;
  options.node_offset_ms = offset_ms;
  if (offset_ms == 0) options.node_drift_ppm = 0;
  return options;
}

}  // namespace

TEST_CASE("three calls tie two nodes 50 ms apart, though the many calls inside them gain nothing") {
  // Groups of two inside and between nodes: nobody says which is which.
  CHECK(score_small_jobs(small_job(2, 2, 3, 50)).wait_mae_us < kMostWaitErrorUs);
}

TEST_CASE("one call moves no clocks that agree: it would agree with any") {
  CHECK(score_small_jobs(small_job(8, 1, 1, 0)).wait_mae_us < kMostWaitErrorUs);
}
