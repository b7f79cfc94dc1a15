// Which calls are matched, over kinds of jobs and of faults: never two that are not one collective, whatever is
// missing; and no fewer than a careful reader would.
#include <catch2/catch.hpp>

#include "skewscope/simulate.h"
#include "tests/jobs/match_tally.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::Folder;
using skewscope::test::match;
using skewscope::test::Tally;

namespace {

struct Shape {
  const char* name;
  int32_t nodes, gpus, tp, pp;
};
constexpr Shape kTensor = {"TP 8", 1, 8, 8, 1}, kData = {"DP 8", 1, 8, 1, 1}, kTensorData = {"TP 4 x DP 2", 2, 4, 4, 1},
                kPairsData = {"TP 2 x DP 4", 1, 8, 2, 1}, kPipeline = {"TP 2 x DP 2 x PP 2", 2, 4, 2, 2};

SimulateOptions shaped(const Folder& folder, const Shape& shape, TraceVendor vendor) {
  SimulateOptions o;
  o.directory = folder.path.string();
  o.force = true;
  o.style = TraceStyle::era_a;
  o.vendor = vendor;
  o.nodes = shape.nodes;
  o.gpus_per_node = shape.gpus;
  o.tp = shape.tp;
  o.pp = shape.pp;
  o.steps = 6;
  o.cpu_rows_per_kernel = 0;
  return o;
}

struct Fault {
  const char* name;
  void (*put_in)(SimulateOptions&);
};
const Fault kFaults[] = {
    {"none", [](SimulateOptions&) {}},
    {"a late host",
     [](SimulateOptions& o) {
       o.host_gaps = {{0, 100'000}};
     }},
    {"a slow rank",
     [](SimulateOptions& o) {
       o.slow_ranks = {{1, 1.3}};
     }},
    {"1 % of kernels lost", [](SimulateOptions& o) { o.lost_kernels = 0.01; }},
    {"a window one step late",
     [](SimulateOptions& o) {
       o.late_windows = {{2, 1}};
     }},
    {"clocks 50 ms and 20 ppm apart",
     [](SimulateOptions& o) {
       o.clock_offset_ms = 50;
       o.clock_drift_ppm = 20;
     }},
    {"a rank missing", [](SimulateOptions& o) { o.missing_ranks = {1}; }},
};

}  // namespace

TEST_CASE("traces that name no group: no wrong pair, and the groups that lateness proves are found") {
  struct Class {
    Shape shape;
    double least;  // share of pairs found, over all faults but a missing rank
  };
  const Class classes[] = {{kTensor, 0.9}, {kData, 0.9}, {kTensorData, 0.8}, {kPairsData, 0.6}, {kPipeline, 0.4}};
  for (const TraceVendor vendor : {TraceVendor::nvidia, TraceVendor::amd, TraceVendor::cpu}) {
    for (const Class& one : classes) {
      Tally whole;
      for (const Fault& fault : kFaults) {
        const Folder folder("unnamed");
        SimulateOptions options = shaped(folder, one.shape, vendor);
        fault.put_in(options);
        const Tally tally = match(options);
        INFO(one.shape.name << ", vendor " << static_cast<int>(vendor) << ", " << fault.name);
        CHECK(tally.wrong == 0);
        if (!options.missing_ranks.empty()) continue;
        whole.pairs += tally.pairs;
        whole.found += tally.found;
      }
      INFO(one.shape.name << ", vendor " << static_cast<int>(vendor));
      CHECK(whole.share() >= one.least);
    }
  }
}

TEST_CASE("a host late once a step does not hide that all ranks are one group") {
  for (const int64_t gap_ns : {50'000, 100'000, 160'000}) {
    const Folder folder("seed57");
    SimulateOptions options = shaped(folder, kTensor, TraceVendor::nvidia);
    options.seed = 57;
    options.steps = 10;
    options.host_gaps = {{0, gap_ns}};
    const Tally tally = match(options);
    CHECK(tally.wrong == 0);
    CHECK(tally.found == tally.pairs);
  }
}

TEST_CASE("data-parallel groups that tensor parallelism keeps in step are not taken for one") {
  const Folder folder("in_step");
  SimulateOptions options = shaped(folder, kPairsData, TraceVendor::amd);
  options.seed = 7918;
  options.steps = 3;
  options.late_windows = {{2, 1}};
  CHECK(match(options).wrong == 0);
}

TEST_CASE("pipeline stages that now and then end a call together are not taken for one group") {
  const Folder folder("stages");
  SimulateOptions options = shaped(folder, kPipeline, TraceVendor::amd);
  options.seed = 21521;
  options.slow_ranks = {{1, 1.3}};
  CHECK(match(options).wrong == 0);
}

TEST_CASE("two calls whose ends happen to lie alike prove no group") {
  const Folder folder("two_calls");
  SimulateOptions options = shaped(folder, kPairsData, TraceVendor::cpu);
  options.style = TraceStyle::era_d;
  options.seed = 50680;
  options.steps = 2;
  options.layers = 2;
  CHECK(match(options).wrong == 0);
}

TEST_CASE("in a job of over a hundred ranks that names no group the groups are found, too") {
  const Folder folder("hundreds");
  const Tally tally = match(shaped(folder, {"TP 8 x DP 13", 13, 8, 8, 1}, TraceVendor::nvidia));
  CHECK(tally.wrong == 0);
  CHECK(tally.share() > 0.7);
}

TEST_CASE("messages of pipelines: with kernels lost and windows late no wrong pair, and nearly all are found") {
  struct Loss {
    const char* name;
    double lost;
    int32_t late_steps;
    double least;  // share of pairs found
  };
  const Loss losses[] = {{"nothing lost", 0, 0, 1},
                         {"0.2 % lost", 0.002, 0, 0.99},
                         {"1 % lost", 0.01, 0, 0.95},
                         {"0.4 % lost, a window a step late", 0.004, 1, 0.99}};
  struct Pipe {
    Shape shape;
    int32_t virtual_stages;
  };
  const Pipe pipes[] = {{{"1F1B over 2 nodes", 2, 4, 2, 4}, 1},
                        {{"interleaved over 2 nodes", 2, 2, 1, 4}, 2},
                        {{"interleaved over 4 nodes", 4, 2, 2, 4}, 2}};
  const bool nightly = skewscope::test::nightly();
  for (const Pipe& pipe : pipes) {
    for (const Loss& loss : losses) {
      Tally whole;
      for (uint32_t seed = 1; seed <= (nightly ? 20U : 1U); ++seed) {
        const Folder folder("messages");
        SimulateOptions options = shaped(folder, pipe.shape, TraceVendor::nvidia);
        options.style = TraceStyle::era_d;
        options.seed = seed;
        options.steps = 4;
        options.micro_batches = 8;
        options.virtual_stages = pipe.virtual_stages;
        options.clock_offset_ms = 40;
        options.clock_drift_ppm = 15;
        options.lost_kernels = loss.lost;
        if (loss.late_steps > 0) options.late_windows = {{1, loss.late_steps}};
        const Tally tally = match(options);
        INFO(pipe.shape.name << ", " << loss.name << ", seed " << seed);
        CHECK(tally.wrong == 0);
        whole.pairs += tally.pairs;
        whole.found += tally.found;
      }
      INFO(pipe.shape.name << ", " << loss.name);
      CHECK(whole.share() >= loss.least);
      if (nightly) WARN(100 * whole.share() << " % of " << whole.pairs << " pairs");
    }
  }
}
