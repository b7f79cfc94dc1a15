// What a repair is said to save, against the same job without its fault: simulated with the same seed, or recorded.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <utility>

#include "skewscope/correlate.h"
#include "skewscope/simulate.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::Folder;

namespace {

JobReport report_in(const std::string& directory) {
  StageTimer timer;
  auto report = correlate({directory}, {}, timer);
  REQUIRE(report.ok());
  return std::move(report.value());
}

JobReport simulated_report(SimulateOptions job) {
  const Folder folder("gains");
  job.directory = folder.path.string();
  job.steps = 4;
  job.cpu_rows_per_kernel = 1;
  REQUIRE(simulate_job(job).ok());
  return report_in(job.directory);
}

JobReport recorded_report(const std::string& set) {
  return report_in((std::filesystem::path(SKEWSCOPE_SOURCE_DIR) / "tests" / "data" / "real" / set).string());
}

double share_of(int64_t saved_ns, const JobReport& report) {
  return static_cast<double>(saved_ns) / static_cast<double>(report.what_if.replayed_ns);
}

// By how much the job without its fault is shorter.
double shorter(const JobReport& faulty, const JobReport& healthy) {
  return share_of(faulty.what_if.recorded_ns - healthy.what_if.recorded_ns, faulty);
}

int64_t named_gain(const JobReport& report, int32_t rank) {
  for (const JobReport::Straggler& s : report.stragglers) {
    if (s.rank == rank) return s.saved_ns;
  }
  return -1;
}

}  // namespace

TEST_CASE("what a slow or a late rank's peers' pace saves is what the job without its fault is shorter") {
  for (const auto& [tp, pp] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{2, 2}}) {
    for (const uint64_t seed : {3, 4}) {
      SimulateOptions job;
      job.tp = tp;
      job.pp = pp;
      job.seed = seed;
      const JobReport healthy = simulated_report(job);
      SimulateOptions slow = job, late = job;
      slow.slow_ranks = {{5, 1.4}};
      late.host_gaps = {{5, 4'000'000}};
      for (const SimulateOptions& fault : {slow, late}) {
        const JobReport faulty = simulated_report(fault);
        INFO("tp " << tp << " pp " << pp << " seed " << seed << " slow " << fault.slow_ranks.size());
        CHECK(share_of(named_gain(faulty, 5), faulty) == Approx(shorter(faulty, healthy)).margin(0.05));
        CHECK_FALSE(faulty.what_if.saved_at_least);
      }
    }
  }
}

// Faults of rank 2 or its host, each in each kind of job, against the same job without it.
TEST_CASE("what a rank's extra work saves is what the job without it is shorter, and its cause is named") {
  struct Kind {
    const char* name;
    int32_t tp, pp, micro_batches, experts;
    bool fsdp;
  };
  struct Fault {
    LateCause cause;
    void (*put)(SimulateOptions&);
  };
  constexpr int32_t kAt = 2;
  const Kind kinds[] = {{"ddp", 1, 1, 1, 0, false},      {"fsdp", 1, 1, 1, 0, true},
                        {"tp", 4, 1, 1, 0, false},       {"tp and dp", 2, 1, 1, 0, false},
                        {"pipeline", 1, 2, 4, 0, false}, {"experts", 1, 1, 1, 2, false}};
  const Fault faults[] = {
      {LateCause::slower_kernels,
       [](SimulateOptions& job) {
         job.slow_ranks = {{kAt, 1.6}};
       }},
      {LateCause::other_shapes,
       [](SimulateOptions& job) {
         job.other_shapes = {{kAt, 2.5}};
       }},
      {LateCause::other_kernels,
       [](SimulateOptions& job) {
         job.more_kernels = {{kAt, 6}};
       }},
      {LateCause::host,
       [](SimulateOptions& job) {
         job.host_gaps = {{kAt, 3'000'000}};
       }},
  };
  uint64_t seed = 20;
  for (const Kind& kind : kinds) {
    SimulateOptions job;
    job.nodes = 1;
    job.layers = 4;
    job.tp = kind.tp;
    job.pp = kind.pp;
    job.micro_batches = kind.micro_batches;
    job.experts = kind.experts;
    job.fsdp = kind.fsdp;
    job.seed = ++seed;
    const JobReport healthy = simulated_report(job);
    for (const Fault& fault : faults) {
      SimulateOptions changed = job;
      fault.put(changed);
      const JobReport faulty = simulated_report(changed);
      const double gain = shorter(faulty, healthy);
      INFO(kind.name << ", " << to_string(fault.cause) << ", seed " << job.seed);
      CHECK(share_of(named_gain(faulty, kAt), faulty) == Approx(gain).margin(0.03));
      if (gain < 0.03) continue;  // a pipeline hides it
      REQUIRE(!faulty.stragglers.empty());
      CHECK(faulty.stragglers.front().rank == kAt);
      CHECK(faulty.stragglers.front().cause == fault.cause);
    }
  }
}

TEST_CASE("what even stages save is what the job with even stages is shorter, where each stage is one rank, too") {
  for (const int32_t tp : {1, 2}) {
    for (const uint64_t seed : {5, 6}) {
      SimulateOptions job;
      job.nodes = tp;
      job.gpus_per_node = 2;
      job.tp = tp;
      job.pp = 2;
      job.seed = seed;
      SimulateOptions even = job;
      for (int32_t rank = 0; rank < 2 * tp; ++rank) {
        if (rank >= tp) job.slow_ranks.push_back({rank, 3.0});
        even.slow_ranks.push_back({rank, 2.0});
      }
      const JobReport faulty = simulated_report(job), balanced = simulated_report(even);
      INFO("tp " << tp << " seed " << seed);
      REQUIRE(faulty.what_if.programs.size() == 2);
      CHECK(share_of(faulty.what_if.programs[1].saved_ns, faulty) == Approx(shorter(faulty, balanced)).margin(0.03));
      CHECK(faulty.what_if.programs[0].saved_ns == 0);
    }
  }
}

// A stage that is the longest of many never waited for the one in front: a replay alone would have it begin too soon.
TEST_CASE("what even stages save is no more than their schedule allows") {
  constexpr int32_t kEvenStages = 4;
  struct Case {
    int32_t longest, micro_batches;
    double factor;
  };
  for (const Case& of : {Case{1, 4, 4}, Case{1, 8, 4}, Case{2, 4, 40}, Case{0, 8, 4}, Case{3, 8, 4}}) {
    SimulateOptions job;
    job.nodes = 1;
    job.gpus_per_node = job.pp = kEvenStages;
    job.tp = 1;
    job.micro_batches = of.micro_batches;
    job.seed = 3;
    SimulateOptions even = job;
    job.slow_ranks = {{of.longest, of.factor}};
    for (int32_t rank = 0; rank < kEvenStages; ++rank) {
      even.slow_ranks.push_back({rank, (of.factor + kEvenStages - 1) / kEvenStages});
    }
    const JobReport faulty = simulated_report(job);
    const double truth = shorter(faulty, simulated_report(even));
    REQUIRE(faulty.what_if.programs.size() == kEvenStages);
    const JobReport::WhatIf::Program& longest = faulty.what_if.programs[static_cast<size_t>(of.longest)];
    CAPTURE(of.longest, of.micro_batches, of.factor, truth, share_of(longest.saved_ns, faulty));
    CHECK(share_of(longest.saved_ns, faulty) < truth + 0.04);
    if (!longest.saved_at_least) CHECK(share_of(longest.saved_ns, faulty) > truth - 0.04);
  }
}

// The truth is the same programs without their faults: 26 ms for 421, and what 14, 9 and 60 % of these jobs are.
TEST_CASE("recorded: what a rank with more work costs is found, or a bound that says so") {
  const JobReport slow = recorded_report("ddp_slow_rank"), fsdp = recorded_report("fsdp2"),
                  ring = recorded_report("ring_attention"), uneven = recorded_report("ddp_imbalance");
  CHECK(share_of(named_gain(fsdp, 1), fsdp) == Approx(0.86).margin(0.03));
  CHECK(share_of(named_gain(ring, 1), ring) == Approx(0.91).margin(0.03));
  // Four ranks share a GPU, but their kernels hardly ever run at once: these gains are no bounds.
  CHECK_FALSE(fsdp.what_if.saved_at_least);
  CHECK_FALSE(ring.what_if.saved_at_least);
  // A call of 86 ms that is not matched stays as it was; four ranks that compute at once slow each other.
  CHECK(share_of(named_gain(slow, 1), slow) > 0.6);
  CHECK(share_of(named_gain(slow, 1), slow) < 0.94);
  CHECK(slow.what_if.saved_at_least);
  CHECK(share_of(named_gain(uneven, 3), uneven) < 0.4);
  CHECK(uneven.what_if.saved_at_least);
}

TEST_CASE("recorded: a stage that works nearly all the time is named with what even stages give") {
  const JobReport report = recorded_report("pipeline_batched");
  REQUIRE(report.what_if.programs.size() == 4);
  const JobReport::WhatIf::Program& longest = report.what_if.programs[2];
  // Four micro-batches on four even stages take 7/4 of a stage's work, a quarter of 275 ms.
  CHECK(static_cast<double>(longest.work_ns) / 1e6 == Approx(275).margin(5));
  CHECK(share_of(longest.saved_ns, report) > 0.4);
  CHECK(share_of(longest.saved_ns, report) < 0.64);  // 7/4 of a quarter of 275 ms, of 330
  CHECK(longest.saved_at_least);
}
