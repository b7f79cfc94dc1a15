// A job that NCCL's Inspector logged says what its Kineto traces say, as far as a log can: the same simulated job, read
// from both.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "skewscope/correlate.h"
#include "skewscope/simulate.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::Folder;

namespace {

// Two nodes of four, their clocks apart; rank 5 computes slowly.
void simulate(const Folder& folder, const std::string& name, const std::string& format) {
  SimulateOptions o;
  o.directory = (folder.path / name).string();
  o.format = format;
  o.style = TraceStyle::era_e;
  o.tp = 2;
  o.pp = 2;
  o.micro_batches = 4;
  o.steps = 8;
  o.layers = 4;
  o.clock_offset_ms = 3;
  o.slow_ranks = {{5, 1.4}};
  o.cpu_rows_per_kernel = 0;
  REQUIRE(simulate_job(o).ok());
}

JobReport report_of(const Folder& folder, const std::string& name, const CorrelateOptions& options = {}) {
  StageTimer timer;
  Result<JobReport> report = correlate({(folder.path / name).string()}, options, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

// Of collectives: operation, communicator's ranks, place in it -> waits by rank.
std::map<std::string, std::map<int32_t, int64_t>> waits_of(const JobReport& report) {
  std::map<std::string, std::map<int32_t, int64_t>> waits;
  std::map<std::pair<std::string, int32_t>, int64_t> number;
  for (const JobReport::CallRow& call : report.calls) {
    if (is_point_to_point(call.op)) continue;
    std::string group = to_string(call.op);
    for (const int32_t rank : report.communicators[static_cast<size_t>(call.communicator)].ranks) {
      group += " " + std::to_string(rank);
    }
    const int64_t place = number[{group, call.rank}]++;
    waits[group + " #" + std::to_string(place)][call.rank] = call.wait_ns;
  }
  return waits;
}

// How far two reports differ in a wait at most.
int64_t largest_difference(const JobReport& a, const JobReport& b) {
  const auto x = waits_of(a), y = waits_of(b);
  REQUIRE(x.size() == y.size());
  int64_t most = 0;
  for (const auto& [call, waits] : x) {
    const auto& other = y.at(call);
    REQUIRE(other.size() == waits.size());
    for (const auto& [rank, wait] : waits) most = std::max(most, std::abs(wait - other.at(rank)));
  }
  return most;
}

bool has_finding(const JobReport& report, FindingCode code) {
  return std::any_of(report.diagnostics.begin(), report.diagnostics.end(),
                     [&](const Finding& finding) { return finding.code == code; });
}

int32_t worst_straggler(const JobReport& report) {
  const auto most = std::max_element(report.stragglers.begin(), report.stragglers.end(),
                                     [](const auto& a, const auto& b) { return a.wait_caused_ns < b.wait_caused_ns; });
  return most == report.stragglers.end() ? -1 : most->rank;
}

}  // namespace

TEST_CASE("a verbose log's report has the ranks, groups, calls, waits and the straggler of the traces' report") {
  const Folder folder("inspector-logs");
  simulate(folder, "kineto", "");
  simulate(folder, "logs", "nccl-inspector");
  const JobReport kineto = report_of(folder, "kineto"), log = report_of(folder, "logs");
  REQUIRE(log.job.world_size == 8);
  REQUIRE(log.job.ranks_present == kineto.job.ranks_present);
  REQUIRE(log.matching.unmatched == 0);
  REQUIRE(log.matching.calls == kineto.matching.calls);
  REQUIRE(largest_difference(log, kineto) < 10'000);
  REQUIRE(worst_straggler(log) == worst_straggler(kineto));
}

TEST_CASE("a log without times has the waits of the traces by durations, and tells no time of any call") {
  const Folder folder("inspector-logs");
  simulate(folder, "kineto", "");
  simulate(folder, "logs", "nccl-inspector-durations");
  const JobReport kineto = report_of(folder, "kineto"), log = report_of(folder, "logs");
  REQUIRE(largest_difference(log, kineto) < 30'000);  // members leave within 20 us, which durations cannot tell
  REQUIRE(worst_straggler(log) == worst_straggler(kineto));
  for (const JobReport::CallRow& call : log.calls) {
    REQUIRE_FALSE(call.timed);
    REQUIRE(call.exposed_ns == -1);
    REQUIRE(call.basis == "durations");
  }
  for (const JobReport::Clock& clock : log.clocks) {
    REQUIRE(clock.method == ClockMethod::durations);
    REQUIRE_FALSE(clock.aligned);
  }
  REQUIRE(has_finding(log, "durations-only"));
  REQUIRE(log.job.vendor == JobVendor::unknown);
}

TEST_CASE("bandwidth is told by algorithm and protocol, and traces that do not tell these have no row") {
  const Folder folder("inspector-logs");
  simulate(folder, "kineto", "");
  simulate(folder, "logs", "nccl-inspector");
  const JobReport log = report_of(folder, "logs");
  REQUIRE_FALSE(log.transports.empty());
  for (const TransportRow& row : log.transports) {
    REQUIRE(row.algorithm == Algorithm::ring);
    REQUIRE(row.protocol == Protocol::simple);
    REQUIRE(row.size > 1);
  }
  REQUIRE(report_of(folder, "kineto").transports.empty());
}

TEST_CASE("the log of a process that has a trace is not counted again") {
  const Folder folder("inspector-logs");
  simulate(folder, "job/kineto", "");
  const JobReport kineto = report_of(folder, "job");
  simulate(folder, "job/logs", "nccl-inspector");
  const JobReport both = report_of(folder, "job");
  REQUIRE(both.matching.calls == kineto.matching.calls);
  REQUIRE(has_finding(both, "log-beside-trace"));
}

TEST_CASE("two jobs in one folder of logs are two: their communicators have names of their own") {
  const Folder folder("inspector-logs");
  simulate(folder, "logs", "nccl-inspector");
  const auto files = discover_files({(folder.path / "logs").string()});
  for (const std::string& file : files.value()) {
    std::ifstream in(file);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    for (size_t at = 0; (at = text.find("\"id\":\"0x", at)) != text.npos;) text.insert(at += 8, "f");
    const std::filesystem::path path = file;
    std::ofstream(path.parent_path() / ("rerun-" + path.filename().string())) << text;
  }
  StageTimer timer;
  CorrelateOptions options;
  std::vector<FoundJob> jobs;
  options.ingest.several_jobs = [&](const std::vector<FoundJob>& found) { jobs = found; };
  REQUIRE_FALSE(correlate({(folder.path / "logs").string()}, options, timer).ok());
  REQUIRE(jobs.size() == 2);
}

TEST_CASE("a rank that turns slow halfway through a long job shows in the trend from then on") {
  const Folder folder("inspector-logs");
  std::filesystem::create_directories(folder.path / "logs");
  for (int rank = 0; rank < 4; ++rank) {
    std::ofstream out(folder.path / "logs" / fmt::format("n0-pid{}.log", 100 + rank));
    for (int64_t i = 0; i < 400; ++i) {  // a call each 100 ms: 40 s
      const int64_t last = i < 200 ? i % 4 : 2;
      out << fmt::format(
                 R"({{"header":{{"id":"0xabc","rank":{},"n_ranks":4,"nnodes":1}},"metadata":{{)"
                 R"("inspector_output_format_version":"v4.1","dump_timestamp_us":{},"hostname":"n0","pid":{}}},"coll_perf":{{)"
                 R"("coll":"AllReduce","coll_sn":{},"coll_msg_size_bytes":1048576,"coll_exec_time_us":{},)"
                 R"("coll_timing_source":"kernel_gpu"}}}})",
                 rank, 1'750'000'000'000'000 + i * 100'000, 100 + rank, i, rank == last ? 1'000 : 4'000)
          << "\n";
    }
  }
  const JobReport report = report_of(folder, "logs");
  int64_t before = 0, after = 0, others = 0;
  for (const TrendRow& row : report.trend) {
    if (row.rank != 2) others += row.start_ns >= 20'000'000'000 ? row.late_count : 0;
    if (row.rank == 2) (row.start_ns < 20'000'000'000 ? before : after) += row.late_count;
  }
  REQUIRE(std::abs(before - 50) < 10);
  REQUIRE(std::abs(after - 200) < 10);
  REQUIRE(others < 10);
}
