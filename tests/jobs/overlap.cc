// Communication hidden and exposed, and what hiding it or a faster link would gain: against the simulator, which runs
// the same job again with these transfers changed, and against the totals of the ranks.
#include <cmath>
#include <map>
#include <utility>

#include "job_truth.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

SimulateOptions usual() {
  SimulateOptions o;
  o.digests = true;
  o.clock_offset_ms = 50;
  return o;
}

// Short layers: communication weighs more.
SimulateOptions fast_layers() {
  SimulateOptions o = usual();
  o.layer_compute_ns = 300'000;
  o.seed = 5;
  return o;
}

SimulateOptions data_parallel() {
  SimulateOptions o = usual();
  o.tp = 1;
  o.layer_compute_ns = 500'000;
  o.seed = 9;
  return o;
}

SimulateOptions pipeline() {
  SimulateOptions o = usual();
  o.nodes = 4;
  o.tp = o.pp = 2;
  o.seed = 3;
  return o;
}

SimulateOptions slow_rank() {
  SimulateOptions o = fast_layers();
  o.slow_ranks = {{5, 1.3}};
  return o;
}

double elapsed_ns(SimulateOptions options) {
  const Folder folder("overlap_changed");
  options.directory = folder.path.string();
  REQUIRE(simulate_job(options).ok());
  return JobTruth(options.directory).elapsed_ns;
}

double elapsed_ns(SimulateOptions options, const SimulateOptions::TransferFactor& changed) {
  options.transfer_factors = {changed};
  return elapsed_ns(std::move(options));
}

void check_overlap_sums(const JobReport& report) {
  int64_t wait = 0, transfer = 0, exposed_wait = 0, exposed_transfer = 0, exposed = 0, calls = 0;
  for (const JobReport::OverlapRow& row : report.overlap) {
    CHECK(row.time_ns == row.wait_ns + row.transfer_ns + row.unattributed_ns);
    if (row.hidden_ns >= 0) CHECK(row.hidden_ns + row.exposed_ns() <= row.time_ns);
    calls += row.calls;
    wait += row.wait_ns;
    transfer += row.transfer_ns;
    exposed_wait += row.exposed_wait_ns;
    exposed_transfer += row.exposed_transfer_ns;
    exposed += row.exposed_ns();
  }
  for (const JobReport::RankRow& rank : report.ranks) {
    calls -= rank.collectives;
    wait -= rank.wait_ns;
    transfer -= rank.transfer_ns;
    exposed_wait -= rank.exposed_wait_ns;
    exposed_transfer -= rank.exposed_transfer_ns;
    exposed -= rank.exposed_communication_ns;
  }
  CHECK(calls == 0);
  CHECK(wait == 0);
  CHECK(transfer == 0);
  CHECK(exposed_wait == 0);
  CHECK(exposed_transfer == 0);
  if (report.job.vendor != JobVendor::cpu) CHECK(exposed == 0);  // timelines are of GPUs
}

// Calls by operation and phase.
std::map<std::pair<std::string, std::string>, int64_t> phases_of(const JobReport& report) {
  std::map<std::pair<std::string, std::string>, int64_t> calls;
  for (const JobReport::OverlapRow& row : report.overlap) calls[{to_string(row.op), row.phase}] += row.calls;
  return calls;
}

}  // namespace

TEST_CASE("eight data-parallel groups are one row per operation and size, and rows sum to the ranks' exposed time") {
  for (SimulateOptions options : {usual(), pipeline()}) {
    const Folder folder("overlap_sums");
    options.directory = folder.path.string();
    REQUIRE(simulate_job(options).ok());
    const JobReport report = correlated(options.directory).report;
    check_overlap_sums(report);
    size_t reduce_scatters = 0;
    for (const JobReport::OverlapRow& row : report.overlap) {
      if (row.op != CollectiveKind::reduce_scatter) continue;
      ++reduce_scatters;
      CHECK(row.group == "DATA_PARALLEL_GROUP");
      CHECK(row.groups == 4);
      CHECK(row.nodes == 2);
      // The first of two buckets is reduced during the backward pass; the only one of a stage is the last.
      CHECK((options.pp == 1 ? row.hidden_share() > 0.1 : row.hidden_share() < 0.01));
    }
    CHECK(reduce_scatters == 1);
  }
}

TEST_CASE("what hiding an operation gains is what the job without these transfers is shorter; so is a faster link") {
  for (const SimulateOptions& job : {usual(), fast_layers(), data_parallel(), pipeline(), slow_rank()}) {
    const Folder folder("overlap_what_if");
    SimulateOptions options = job;
    options.directory = folder.path.string();
    REQUIRE(simulate_job(options).ok());
    const JobReport::WhatIf what_if = correlated(options.directory).report.what_if;
    const double before = JobTruth(options.directory).elapsed_ns;
    CHECK(!what_if.operations.empty());
    for (const JobReport::WhatIf::Operation& one : what_if.operations) {
      const double hidden = (before - elapsed_ns(job, {one.group, one.op, 0})) / before;
      const double faster = (before - elapsed_ns(job, {one.group, one.op, 0.5})) / before;
      CAPTURE(job.seed, job.pp, one.group, to_string(one.op), one.hidden_share, hidden, one.faster_share, faster);
      CHECK(std::fabs(one.hidden_share - hidden) < 0.005);
      CHECK(std::fabs(one.faster_share - faster) < 0.005);
    }
  }
}

// Either pass gathers: forward and backward are parts of one operation. `slow_layer`: one layer's transfers take eight
// times as long, and expose most.
TEST_CASE("what hiding one phase, or the module that exposes most, gains is what the job without it is shorter") {
  for (const bool slow_layer : {false, true}) {
    const Folder folder("overlap_parts");
    SimulateOptions job = usual();
    job.tp = 1;
    job.fsdp = true;
    job.layer_compute_ns = 300'000;
    job.seed = 7;
    if (slow_layer) job.transfer_factors = {{"DATA_PARALLEL_GROUP", CollectiveKind::all_gather, 8, {}, 3}};
    SimulateOptions options = job;
    options.directory = folder.path.string();
    REQUIRE(simulate_job(options).ok());
    const JobReport::WhatIf what_if = correlated(options.directory).report.what_if;
    const double before = JobTruth(options.directory).elapsed_ns;
    size_t phases = 0, modules = 0;
    for (const JobReport::WhatIf::Operation& one : what_if.operations) {
      for (const JobReport::WhatIf::Operation::Part& part : one.parts) {
        SimulateOptions hidden = job;
        SimulateOptions::TransferFactor changed{one.group, one.op, 0};
        if (!part.phase.empty()) changed.backward = part.phase == "backward";
        if (!part.module.empty()) changed.layer = std::stoi(part.module.substr(part.module.find('.') + 1));
        (part.module.empty() ? phases : modules) += 1;
        hidden.transfer_factors.push_back(changed);
        const double shorter = (before - elapsed_ns(hidden)) / before;
        CAPTURE(slow_layer, to_string(one.op), part.phase, part.module, part.hidden_share, shorter);
        CHECK(std::fabs(part.hidden_share - shorter) < 0.005);
      }
    }
    CHECK(phases == 2);
    CHECK(modules == (slow_layer ? 1 : 0));
  }
}

TEST_CASE("recorded jobs: exposed communication by kind sums to the ranks'") {
  for (const char* name : {"fsdp2", "experts", "every_collective", "mesh", "pipeline_batched", "gloo"}) {
    CAPTURE(name);
    StageTimer timer;
    const auto report = correlate({std::string(SKEWSCOPE_SOURCE_DIR) + "/tests/data/real/" + name}, {}, timer);
    REQUIRE(report.ok());
    check_overlap_sums(report.value());
  }
}

TEST_CASE("sharded parameters are gathered in either pass, their gradients reduced in the backward one") {
  for (const bool digests : {false, true}) {
    const Folder folder("overlap_phases");
    SimulateOptions options;
    options.nodes = 1;
    options.gpus_per_node = 4;
    options.tp = 1;
    options.fsdp = true;
    options.steps = 3;
    options.digests = digests;
    options.directory = folder.path.string();
    REQUIRE(simulate_job(options).ok());
    auto calls = phases_of(correlated(options.directory).report);
    const int64_t each = int64_t{4} * options.steps * options.layers;
    CHECK(calls[{"all_gather", "forward"}] == each);
    CHECK(calls[{"all_gather", "backward"}] == each);
    CHECK(calls[{"reduce_scatter", "backward"}] == each);
    CHECK(calls.count({"reduce_scatter", ""}) == 0);
  }
}

// Counted by hand: the kernels of each trace by the thread that launched them, and where it stood then.
TEST_CASE("recorded jobs: calls are of the phase in which their programs launch them") {
  const auto calls_of = [](const char* name) {
    return phases_of(correlated(std::string(SKEWSCOPE_SOURCE_DIR) + "/tests/data/real/" + name).report);
  };
  auto fsdp = calls_of("fsdp2");
  CHECK(fsdp[{"all_gather", "forward"}] == 48);
  CHECK(fsdp[{"all_gather", "backward"}] == 48);
  CHECK(fsdp[{"reduce_scatter", "backward"}] == 48);
  auto ddp = calls_of("ddp");
  CHECK(ddp[{"all_reduce", "backward"}] == 48);
  auto experts = calls_of("experts");
  CHECK(experts[{"all_to_all", "forward"}] == 24);
  CHECK(experts[{"all_to_all", "backward"}] == 24);
  CHECK(experts[{"all_reduce", "forward"}] + experts[{"all_reduce", "backward"}] == 0);  // behind the backward pass
  auto tensor = calls_of("tensor_parallel");
  CHECK(tensor[{"all_reduce", "forward"}] == 48);
  CHECK(tensor[{"all_reduce", "backward"}] == 36);
  for (const auto& [of, calls] : calls_of("decode")) CHECK(of.second.empty());  // inference
}
