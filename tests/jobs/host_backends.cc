// Jobs whose collectives run on the host: gloo, MPI, UCC, on CPUs and between GPUs.
#include "host_job.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

// DDP over gloo: the GPU computes, a thread of the host reduces what it left, and the next step waits for that.
Writer gloo_between_gpus(int64_t pause_of_late_rank_us) {
  return [=](const StepTimes& t) {
    const int64_t own_us = kCompute_us + (t.rank == kLateRank && pause_of_late_rank_us == 0 ? kLater_us : 0);
    const int64_t begin_us = t.rank == kLateRank ? t.begin_us + pause_of_late_rank_us : t.begin_us;
    return std::vector<Event>{
        step_range(t),
        {"cuda_runtime", "cudaLaunchKernel", begin_us + 40, 5, 4000, fmt::format(R"("correlation": {})", t.id(1))},
        gpu_row("kernel", "gemm", begin_us + 50, begin_us + 50 + own_us, 7, t.id(1)),
        record(t, t.arrives_us - 4 - t.begin_us, 2),
        {"user_annotation", "gloo:all_reduce", t.arrives_us, t.leaves_us - t.arrives_us, 4009, ""}};
  };
}

// Rank 1's `damaged`-th call ends `late_us` later; kAbsent_us: its end was not recorded.
Writer mpi_with_damage(int damaged, int64_t late_us) {
  return [=](const StepTimes& t) {
    const bool hit = t.rank == 1 && t.step == damaged;
    const int64_t lasts_us = t.leaves_us - t.arrives_us;
    return std::vector<Event>{step_range(t),
                              {"user_annotation", "mpi:all_reduce", t.arrives_us,
                               !hit                    ? lasts_us
                               : late_us == kAbsent_us ? kAbsent_us
                                                       : lasts_us + late_us,
                               4000, ""}};
  };
}

// Its peers' pace saves what it is late.
void check_late_rank(const JobReport& report, LateCause cause) {
  REQUIRE_FALSE(report.stragglers.empty());
  CHECK(report.stragglers[0].rank == kLateRank);
  CHECK(report.stragglers[0].cause == cause);
  const double saved_ns = static_cast<double>(report.stragglers[0].saved_ns);
  CHECK(saved_ns == Approx(kHostSteps * kLater_us * kNsPerUs).epsilon(0.05));
}

}  // namespace

TEST_CASE("ranges of MPI and UCC on CPUs, and of gloo beside GPUs, are split as all collectives are") {
  for (const char* backend : {"mpi", "ucc", "gloo"}) {
    INFO(backend);
    const HostJob job(backend, [&](const StepTimes& t) {
      Event call{"user_annotation",
                 fmt::format("{}:all_reduce", backend),
                 t.arrives_us,
                 t.leaves_us - t.arrives_us,
                 4009,
                 R"("Input Dims": [[4096]], "Input type": ["float"])"};
      std::vector<Event> events = {step_range(t), call};
      if (std::string(backend) == "gloo") events.insert(events.end(), {launch(t, 10, t.id(1)), gemm(t)});
      return events;
    });
    const JobReport report = job.report();
    check_usual_waits(report);
    CHECK_FALSE(states(summary_of(report), "No collectives"));
  }
}

TEST_CASE("between GPUs that gloo serves, GPUs wait and are not idle, and each nanosecond has one name") {
  const JobReport report = HostJob("gloo", gloo_between_gpus(0)).report();
  check_usual_waits(report);
  for (const JobReport::RankRow& row : report.ranks) {
    INFO("rank " << row.rank);
    CHECK(row.communication_ns == row.wait_ns + row.transfer_ns);
    CHECK(row.exposed_communication_ns == row.communication_ns);
    CHECK(row.compute_ns == kHostSteps * (kCompute_us + (row.rank == kLateRank ? kLater_us : 0)) * kNsPerUs);
    CHECK(row.compute_ns + row.exposed_communication_ns + row.idle_ns == row.total_ns);
  }
  REQUIRE(report.communicators.size() == 1);
  CHECK(report.communicators[0].name == "0");  // as the record on the thread of the program says
}

TEST_CASE(
    "behind gloo's collectives a rank whose kernels are slower is the cause, and its peers' pace saves their time") {
  const JobReport report = HostJob("gloo", gloo_between_gpus(0)).report();
  check_late_rank(report, LateCause::slower_kernels);
}

TEST_CASE("behind gloo's collectives a rank whose host pauses before it launches is the cause, and so is its host") {
  const JobReport report = HostJob("gloo", gloo_between_gpus(kLater_us)).report();
  check_usual_waits(report);
  check_late_rank(report, LateCause::host);
}

TEST_CASE("of an MPI call whose end is seconds late, or was not recorded, the others lose nothing") {
  for (const int damaged : {3, kHostSteps - 1}) {
    for (const int64_t late_us : {kAbsent_us, int64_t{4'800'000}}) {
      CAPTURE(damaged, late_us);
      const JobReport report = HostJob("mpi", mpi_with_damage(damaged, late_us)).report();
      REQUIRE(report.ranks.size() == kHostRanks);
      for (const JobReport::RankRow& row : report.ranks) {
        INFO("rank " << row.rank);
        const int calls = row.rank == 1 ? kHostSteps - 1 : kHostSteps;
        CHECK(row.wait_ns == (row.rank == kLateRank ? 0 : calls * kLater_us * kNsPerUs));
      }
      CHECK(report.matching.matched == kHostRanks * kHostSteps - 1);
      CHECK(report.matching.unmatched == 1);
    }
  }
}
