// Exposed communication that blocks and that coincides: against the simulator, which runs the same job again with calls
// that take no time, against the replay of each rank alone with such calls, and against the sums of ranks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "skewscope/correlate.h"
#include "skewscope/simulate.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::Folder;

namespace {

const std::filesystem::path kRecordedFolder = std::filesystem::path(SKEWSCOPE_SOURCE_DIR) / "tests" / "data" / "real";

struct KnownJob {
  const char* name;
  int32_t tp, pp, micro_batches, experts;
  bool fsdp;
};
constexpr KnownJob kKnownJobs[] = {
    {"data parallel", 1, 1, 1, 0, false},
    {"sharded", 1, 1, 1, 0, true},
    {"tensor parallel", 4, 1, 1, 0, false},
    {"tensor and data parallel", 2, 1, 1, 0, false},
    {"experts", 1, 1, 1, 2, false},
    {"pipeline", 1, 2, 1, 0, false},
    {"pipeline of micro-batches", 2, 2, 4, 0, false},
};

SimulateOptions options_of_known(const KnownJob& known) {
  SimulateOptions job;
  job.digests = true;
  job.clock_offset_ms = 50;
  job.steps = 4;
  job.tp = known.tp;
  job.pp = known.pp;
  job.micro_batches = known.micro_batches;
  job.experts = known.experts;
  job.fsdp = known.fsdp;
  job.slow_ranks = {{3, 1.2}};
  job.seed = 31;
  return job;
}

JobReport report_of_blocking(const std::string& directory) {
  StageTimer timer;
  auto report = correlate({directory}, {}, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

// Its report, and what its ranks' calls truly held them up.
std::pair<JobReport, std::vector<int64_t>> simulated_blocking(SimulateOptions job) {
  const Folder folder("blocking");
  job.directory = folder.path.string();
  REQUIRE(simulate_job(job).ok());
  std::ifstream file(job.directory + "/truth.json");
  std::vector<int64_t> blocking;
  const nlohmann::json truth = nlohmann::json::parse(file);
  for (const auto& rank : truth.at("ranks")) blocking.push_back(rank.at("blocking_ns"));
  return {report_of_blocking(job.directory), blocking};
}

void check_window(const JobReport& report) {
  int64_t blocking = 0, in_steps = 0;
  for (const JobReport::RankRow& r : report.ranks) {
    CHECK(std::min({r.blocking_communication_ns, r.coincided_communication_ns, r.unknown_communication_ns}) >= 0);
    CHECK(r.blocking_communication_ns + r.coincided_communication_ns + r.unknown_communication_ns ==
          r.exposed_communication_ns);
    // Busy, blocked, beside a GPU that had nothing to do, not told; launch-starved, stalled: the window.
    CHECK(r.compute_ns + r.exposed_memcpy_ns + r.blocking_communication_ns + r.coincided_communication_ns +
              r.unknown_communication_ns + r.idle_host_wait_ns + r.idle_kernel_wait_ns + r.idle_other_ns ==
          r.total_ns);
    blocking += r.blocking_communication_ns;
  }
  for (const JobReport::StepRow& s : report.steps) {
    in_steps += s.blocking_wait_ns + s.blocking_transfer_ns + s.blocking_unattributed_ns;
    CHECK((s.blocked_by == BlockedBy::nothing) ==
          (s.blocking_wait_ns + s.blocking_transfer_ns + s.blocking_unattributed_ns == 0));
  }
  CHECK(in_steps <= blocking);
}

}  // namespace

TEST_CASE("blocking time is what a rank is through earlier where calls take no time: run again, and replayed") {
  for (const KnownJob& known : kKnownJobs) {
    SimulateOptions job = options_of_known(known);
    for (const double slow_host :
         {1.0, 300.0}) {  // so slow that its GPU computes what is launched before a call is over
      job.slow_hosts = {{5, slow_host}};
      const auto [report, truth] = simulated_blocking(job);
      check_window(report);
      REQUIRE(truth.size() == report.ranks.size());
      for (size_t r = 0; r < truth.size(); ++r) {
        const JobReport::RankRow& rank = report.ranks[r];
        const double little = 0.001 * static_cast<double>(rank.exposed_communication_ns);
        const auto nearly = [&](int64_t ns) { return Approx(static_cast<double>(ns)).epsilon(0.01).margin(little); };
        CAPTURE(known.name, slow_host, r, rank.exposed_communication_ns);
        CHECK(static_cast<double>(rank.blocking_communication_ns) == nearly(truth[r]));
        CHECK(static_cast<double>(rank.instant_calls_saved_ns) == nearly(truth[r]));
      }
      const JobReport::RankRow& behind = report.ranks[5];
      const bool coincides = behind.coincided_communication_ns > behind.blocking_communication_ns;
      CHECK(coincides == (slow_host > 1));
    }
  }
}

TEST_CASE("with the waits on streams recorded, all exposed time is told apart, and as the job run again tells it") {
  for (const KnownJob& known : kKnownJobs) {
    SimulateOptions job = options_of_known(known);
    job.sync_events = true;
    job.slow_hosts = {{5, 300}};
    const auto [report, truth] = simulated_blocking(job);
    check_window(report);
    for (size_t r = 0; r < truth.size(); ++r) {
      const JobReport::RankRow& rank = report.ranks[r];
      const double little = 0.001 * static_cast<double>(rank.exposed_communication_ns);
      CAPTURE(known.name, r, rank.exposed_communication_ns);
      CHECK(static_cast<double>(rank.blocking_communication_ns) ==
            Approx(static_cast<double>(truth[r])).epsilon(0.01).margin(little));
      CHECK(static_cast<double>(rank.unknown_communication_ns) <= little);
    }
  }
}

TEST_CASE("where hosts are as slow as GPUs, the replay knows what launches hold up once calls do not any more") {
  SimulateOptions job = options_of_known(kKnownJobs[2]);
  job.launch_factor = 12;
  job.layer_compute_ns = 100'000;
  const auto [report, truth] = simulated_blocking(job);
  for (size_t r = 0; r < truth.size(); ++r) {
    const JobReport::RankRow& rank = report.ranks[r];
    const double little = 0.01 * static_cast<double>(rank.exposed_communication_ns);
    CHECK(static_cast<double>(rank.instant_calls_saved_ns) == Approx(static_cast<double>(truth[r])).margin(little));
    CHECK(rank.instant_calls_saved_ns < rank.blocking_communication_ns);
  }
}

TEST_CASE("a step is blocked by arrival skew where a rank is slow, by transfer where none is") {
  for (const double slow : {1.0, 2.0}) {
    SimulateOptions job = options_of_known(kKnownJobs[2]);
    job.slow_ranks = {{3, slow}, {7, slow}};
    const JobReport report = simulated_blocking(job).first;
    REQUIRE(report.steps.size() == 4);
    for (const JobReport::StepRow& step : report.steps)
      CHECK(step.blocked_by == (slow > 1 ? BlockedBy::arrival_skew : BlockedBy::transfer));
  }
}

TEST_CASE("recorded decode steps: rank 1's host sleeps in each, and arrival skew is what blocks them") {
  const JobReport report = report_of_blocking((kRecordedFolder / "decode").string());
  REQUIRE(report.steps.size() == 3);
  for (const JobReport::StepRow& step : report.steps) CHECK(step.blocked_by == BlockedBy::arrival_skew);
  for (const JobReport::RankRow& rank : report.ranks) {
    CHECK(static_cast<double>(rank.blocking_communication_ns) >=
          0.99 * static_cast<double>(rank.exposed_communication_ns));
  }
}

TEST_CASE(
    "all parts sum to the window where rows are lost, ranks missing, clocks coarse, hosts slow or nothing matches") {
  SimulateOptions lossy = options_of_known(kKnownJobs[3]), alone = lossy;
  lossy.digests = false;
  lossy.layer_compute_ns = 100'000;
  lossy.launch_factor = 3;
  lossy.lost_kernels = 0.1;
  lossy.missing_ranks = {1};
  lossy.cpu_rows_per_kernel = 1;
  alone.missing_ranks = {0, 1, 2, 4, 5, 6, 7};
  for (const TraceStyle style : {TraceStyle::era_a, TraceStyle::era_c, TraceStyle::era_e}) {
    for (const TraceVendor vendor : {TraceVendor::nvidia, TraceVendor::amd, TraceVendor::cpu}) {
      lossy.style = style;
      lossy.vendor = vendor;
      check_window(simulated_blocking(lossy).first);
    }
  }
  const JobReport report = simulated_blocking(alone).first;
  check_window(report);
  CHECK(report.ranks.front().blocking_communication_ns > 0);
  CHECK(report.ranks.front().instant_calls_saved_ns == -1);
}

TEST_CASE("recorded jobs: exposed communication is blocking, coincided or unknown, and all parts sum to the window") {
  for (const auto& entry : std::filesystem::directory_iterator(kRecordedFolder)) {
    if (!entry.is_directory()) continue;
    CAPTURE(entry.path().filename().string());
    check_window(report_of_blocking(entry.path().string()));
  }
}
