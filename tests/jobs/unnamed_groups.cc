// Which ranks are one group, where no trace says so: many seeds of small jobs on one node, whose groups run side by
// side and are held in line by each other. PyTorch before 2.4 wrote such traces.
#include <catch2/catch.hpp>
#include <cstdio>
#include <vector>

#include "tests/jobs/match_tally.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::Folder;
using skewscope::test::match;
using skewscope::test::Tally;

namespace {

SimulateOptions job_of_eight(const Folder& folder, int32_t tp, uint32_t seed) {
  SimulateOptions o;
  o.directory = folder.path.string();
  o.force = true;
  o.style = TraceStyle::era_a;
  o.nodes = 1;
  o.gpus_per_node = 8;
  o.tp = tp;
  o.steps = 3;
  o.layers = 8;
  o.layers_per_bucket = 1;
  o.layer_compute_ns = 400'000;
  o.cpu_rows_per_kernel = 0;
  o.seed = seed;
  if (seed % 2 == 0) o.slow_ranks = {{static_cast<int32_t>(seed % 8), seed % 4 == 0 ? 1.2 : 1.03}};
  return o;
}

struct Scatter {
  int64_t exit_jitter_ns;
  double least;  // share of pairs found, over all sizes
};

// A table of tensor-parallel sizes and messages; `change` makes the fault.
template <class Change>
void check_table(const char* name, const std::vector<Scatter>& scatters, const Change& change) {
  const uint32_t seeds = skewscope::test::nightly() ? 40 : 1;
  for (const Scatter& scatter : scatters) {
    Tally all;
    for (const int32_t tp : {1, 2, 4, 8}) {
      for (const double messages : {1.0, 0.2, 0.05}) {
        Tally whole;
        for (uint32_t seed = 1; seed <= seeds; ++seed) {
          const Folder folder("groups");
          SimulateOptions options = job_of_eight(folder, tp, seed);
          options.exit_jitter_ns = scatter.exit_jitter_ns;
          options.message_factor = messages;
          change(options);
          const Tally tally = match(options);
          INFO(name << ", TP " << tp << ", messages " << messages << ", jitter " << scatter.exit_jitter_ns << ", seed "
                    << seed);
          CHECK(tally.wrong == 0);
          whole += tally;
        }
        if (skewscope::test::nightly()) {
          std::printf("%s, TP %d, messages %.2f, jitter %4lld ns: %5.1f %% of %lld pairs, %lld wrong\n", name, tp,
                      messages, static_cast<long long>(scatter.exit_jitter_ns), 100 * whole.share(),
                      static_cast<long long>(whole.pairs), static_cast<long long>(whole.wrong));
        }
        all += whole;
      }
    }
    CHECK(all.share() >= scatter.least);
  }
}

}  // namespace

TEST_CASE("groups that no trace names, of 1 to 8 tensor-parallel ranks: no wrong pair, and nearly all are found") {
  check_table("whole", {{400, 0.95}, {1200, 0.95}, {3600, 0.85}}, [](SimulateOptions&) {});
}

TEST_CASE("groups that no trace names, with a window a step late: no wrong pair, and most are found") {
  check_table("late window", {{400, 0.9}, {1200, 0.8}}, [](SimulateOptions& o) { o.late_windows = {{2, 1}}; });
}

TEST_CASE("groups that no trace names, with 1 % of kernels lost: no wrong pair, and most are found") {
  check_table("1 % lost", {{400, 0.8}, {1200, 0.7}}, [](SimulateOptions& o) { o.lost_kernels = 0.01; });
}

TEST_CASE("groups that no trace names, with a rank missing: no wrong pair") {
  check_table("rank missing", {{400, 0}}, [](SimulateOptions& o) { o.missing_ranks = {3}; });
}

TEST_CASE(
    "groups that no trace names, over two nodes whose clocks are apart: no wrong pair, and nearly all are found") {
  check_table("two nodes", {{400, 0.95}, {1200, 0.95}}, [](SimulateOptions& o) {
    o.nodes = 2;
    o.gpus_per_node = 4;
    o.clock_offset_ms = 20;
    o.clock_drift_ppm = 10;
  });
}
