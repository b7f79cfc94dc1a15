// Clocks of interleaved pipelines over two nodes: messages pass between the nodes in both directions, and a pair that
// is off by one hop would move a clock by the length of a hop. Collectives whose ends scatter by microseconds have to
// win.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/jobs/clock_truth.h"
#include "tests/jobs/match_tally.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::ClockScore;
using skewscope::test::ClockTruth;
using skewscope::test::Folder;
using skewscope::test::split;

namespace {

struct Pipe {
  const char* name;
  int32_t gpus_per_node, tp, pp;
  double lost;
  int64_t most_ns;  // p99 of the errors
};

// Two nodes, each with pp / 2 stages.
SimulateOptions interleaved(const Folder& folder, const Pipe& pipe, int64_t exit_jitter_ns, uint64_t seed) {
  SimulateOptions o;
  o.directory = folder.path.string();
  o.force = o.digests = true;
  o.nodes = o.virtual_stages = 2;
  o.gpus_per_node = pipe.gpus_per_node;
  o.tp = pipe.tp;
  o.pp = o.micro_batches = pipe.pp;
  o.layers = 2 * pipe.pp;
  o.layer_compute_ns = 150'000;
  o.steps = 3;
  o.lost_kernels = pipe.lost;
  o.exit_jitter_ns = exit_jitter_ns;
  o.clock_offset_ms = 40;
  o.clock_drift_ppm = 10;
  o.seed = seed;
  return o;
}

int64_t p99(std::vector<int64_t> errors_ns) {
  REQUIRE(!errors_ns.empty());
  std::sort(errors_ns.begin(), errors_ns.end());
  return errors_ns[(errors_ns.size() - 1) * 99 / 100];
}

}  // namespace

TEST_CASE("clocks of interleaved pipelines over two nodes: within microseconds, and held by their bars") {
  const bool nightly = skewscope::test::nightly();
  const uint64_t seeds = nightly ? 20 : 2;
  const Pipe pipes[] = {{"PP 4 x DP 2", 4, 1, 4, 0, 5000},
                        {"TP 2 x PP 4", 4, 2, 4, 0, 5000},
                        {"TP 2 x PP 4 x DP 2", 8, 2, 4, 0, 5000},
                        {"TP 2 x PP 4, 0.2 % lost", 4, 2, 4, 0.002, 5000},
                        {"PP 8, messages only", 4, 1, 8, 0, 7000}};
  for (const Pipe& pipe : pipes) {
    for (const int64_t exit_jitter_ns : {1000, 3000}) {
      ClockScore score;
      for (uint64_t seed = 1; seed <= seeds; ++seed) {
        const Folder folder("interleaved");
        const SimulateOptions options = interleaved(folder, pipe, exit_jitter_ns, seed);
        const CorrelatedJob job = split(options, std::nullopt);
        const ClockTruth truth(options.directory);
        truth.score_clocks(job, score);
        truth.score_calls(job, score);
      }
      const int64_t error_ns = p99(score.errors_ns);
      if (nightly) {
        std::printf("%s, jitter %lld ns: p99 %.2f us, bars hold %lld of %lld, %lld of %lld calls matched, %lld wrong\n",
                    pipe.name, static_cast<long long>(exit_jitter_ns), static_cast<double>(error_ns) / 1000,
                    static_cast<long long>(score.held), static_cast<long long>(score.tied),
                    static_cast<long long>(score.matched), static_cast<long long>(score.calls),
                    static_cast<long long>(score.wrong));
      }
      INFO(pipe.name << ", jitter " << exit_jitter_ns);
      CHECK(error_ns <= pipe.most_ns);
      CHECK(100 * score.held >= 95 * score.tied);
      CHECK(score.against_causality == 0);
      CHECK(score.wrong == 0);
    }
  }
}
