// Processes of one job left traces, logs of NCCL's Inspector, or both: the same simulated job, recorded by both.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

#include "skewscope/correlate.h"
#include "skewscope/simulate.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::Folder;

namespace {

struct Recorded {
  std::string format;
  int late_steps = 0;                 // of every rank
  std::vector<int32_t> missing = {};  // ranks
  int64_t layer_compute_ns = 300'000;
};

// Two nodes of four; rank 5 computes slowly.
void simulate(const Folder& folder, const Recorded& recorded) {
  SimulateOptions o;
  o.directory = (folder.path / "job" / (recorded.format.empty() ? "kineto" : "logs")).string();
  o.format = recorded.format;
  o.style = TraceStyle::era_e;
  o.tp = 2;
  o.pp = 2;
  o.micro_batches = 4;
  o.steps = 8;
  o.layers = 4;
  o.layer_compute_ns = recorded.layer_compute_ns;
  o.clock_offset_ms = 3;
  o.slow_ranks = {{5, 1.4}};
  o.cpu_rows_per_kernel = 0;
  o.missing_ranks = recorded.missing;
  for (int32_t rank = 0; rank < 8 && recorded.late_steps > 0; ++rank)
    o.late_windows.push_back({rank, recorded.late_steps});
  REQUIRE(simulate_job(o).ok());
}

JobReport report_of(const Folder& folder, const std::string& name = "job") {
  StageTimer timer;
  Result<JobReport> report = correlate({(folder.path / name).string()}, {}, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

int64_t counted(const JobReport& report, FindingCode code) {
  int64_t count = 0;
  for (const Finding& finding : report.diagnostics) count += finding.code == code ? finding.count : 0;
  return count;
}

int64_t collective_calls(const JobReport& report) {
  return std::count_if(report.calls.begin(), report.calls.end(),
                       [](const auto& call) { return !is_point_to_point(call.op); });
}

int32_t most_blamed(const JobReport& report) {
  const auto most = std::max_element(report.stragglers.begin(), report.stragglers.end(),
                                     [](const auto& a, const auto& b) { return a.wait_caused_ns < b.wait_caused_ns; });
  return most == report.stragglers.end() ? -1 : most->rank;
}

// `least`: of the collectives that a trace shows, the share that must be found in the log.
void check_joined(const std::string& format, double least) {
  const Folder folder("logs-and-traces");
  simulate(folder, {.format = "", .late_steps = 4});
  const JobReport kineto = report_of(folder);
  REQUIRE(kineto.transports.empty());
  simulate(folder, {.format = format});
  const JobReport both = report_of(folder);
  REQUIRE(both.matching.calls == kineto.matching.calls);
  REQUIRE(both.job.window_ns == kineto.job.window_ns);
  const int64_t joined = counted(both, "log-joined"), all = collective_calls(kineto);
  REQUIRE(joined + counted(both, "log-not-joined") == all);
  REQUIRE(static_cast<double>(joined) >= least * static_cast<double>(all));
  int64_t instances = 0;
  for (const TransportRow& row : both.transports) {
    REQUIRE(row.algorithm == Algorithm::ring);
    REQUIRE(row.protocol == Protocol::simple);
    instances += row.count;
  }
  int64_t collectives = 0;
  for (const JobReport::CollectiveRow& row : kineto.collectives) {
    collectives += is_point_to_point(row.op) ? 0 : row.count;
  }
  REQUIRE(static_cast<double>(instances) >= least * static_cast<double>(collectives));
  REQUIRE(instances <= collectives);
}

}  // namespace

TEST_CASE("a trace of the last steps learns algorithm and protocol from the log of all steps") {
  check_joined("nccl-inspector", 1);
}

TEST_CASE("durations alone tell which of a log's calls a trace shows, but for some of the rare ones") {
  check_joined("nccl-inspector-durations", 0.8);
}

TEST_CASE("ranks with logs alone are ranks of the job whose other ranks have traces and logs") {
  const Folder folder("logs-and-traces");
  simulate(folder, {.format = ""});
  const JobReport all = report_of(folder);
  std::filesystem::remove_all(folder.path / "job");
  simulate(folder, {.format = "", .missing = {1, 3, 6}});
  simulate(folder, {.format = "nccl-inspector"});
  const JobReport mixed = report_of(folder);
  REQUIRE(mixed.job.world_size == 8);
  REQUIRE(mixed.job.ranks_missing.empty());
  REQUIRE(mixed.components.size() == 1);
  REQUIRE(mixed.matching.incomplete_instances == 0);
  REQUIRE(mixed.matching.matched >= all.matching.calls * 98 / 100);
  REQUIRE(most_blamed(mixed) == most_blamed(all));
}

TEST_CASE("ranks of which durations alone are logged share the collectives of ranks with traces") {
  const Folder folder("logs-and-traces");
  simulate(folder, {.format = "", .missing = {1, 3, 6}});
  simulate(folder, {.format = "nccl-inspector-durations"});
  const JobReport mixed = report_of(folder);
  REQUIRE(mixed.job.ranks_missing.empty());
  int64_t whole = 0;
  for (const JobReport::CallRow& call : mixed.calls) {
    const bool of_all = mixed.communicators[static_cast<size_t>(call.communicator)].size == 8;
    if (of_all && !is_point_to_point(call.op) && call.complete && call.basis == "durations") ++whole;
  }
  REQUIRE(whole == 8 * 8);  // one all-reduce of all ranks in each step
}

TEST_CASE("the trend goes over all that the logs hold, while the report is of what the traces show") {
  const Folder folder("logs-and-traces");
  const int64_t slow_ns = 60'000'000;
  simulate(folder, {.format = "", .late_steps = 6, .layer_compute_ns = slow_ns});
  const JobReport kineto = report_of(folder);
  REQUIRE(kineto.trend.empty());
  simulate(folder, {.format = "nccl-inspector", .layer_compute_ns = slow_ns});
  const JobReport both = report_of(folder);
  std::filesystem::remove_all(folder.path / "job" / "kineto");
  const JobReport logs = report_of(folder);
  REQUIRE_FALSE(logs.trend.empty());
  REQUIRE(both.job.window_ns == kineto.job.window_ns);
  REQUIRE(both.trend.size() == logs.trend.size());
  REQUIRE(both.trend.front().start_ns < 0);  // ahead of the traces
  for (size_t i = 0; i < logs.trend.size(); ++i) {
    REQUIRE(both.trend[i].rank == logs.trend[i].rank);
    REQUIRE(both.trend[i].wait_caused_ns == logs.trend[i].wait_caused_ns);
  }
}
