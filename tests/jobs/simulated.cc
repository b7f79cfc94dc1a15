// Whole jobs with known truth: the simulator says when every member of every collective really started and ended; the
// pipeline sees only the traces.
#include <tbb/global_control.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "skewscope/align.h"
#include "skewscope/attribute.h"
#include "skewscope/blame.h"
#include "skewscope/correlate.h"
#include "skewscope/matching.h"
#include "skewscope/report.h"
#include "skewscope/simulate.h"
#include "tests/jobs/call_truth.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::CallTruth;
using skewscope::test::Folder;
namespace fs = std::filesystem;

namespace {

SimulateOptions two_nodes(const Folder& folder) {
  SimulateOptions o;
  o.directory = folder.path.string();
  o.nodes = 2;
  o.gpus_per_node = 4;
  o.tp = 4;
  o.steps = 8;
  o.layers = 4;
  o.clock_offset_ms = 50;
  o.clock_drift_ppm = 20;
  o.slow_ranks = {{5, 1.15}};
  o.cpu_rows_per_kernel = 0;
  return o;
}

// TP 2 x DP 2 x PP 4, a stage per node.
SimulateOptions four_stages(const Folder& folder) {
  SimulateOptions o = two_nodes(folder);
  o.nodes = 4;
  o.tp = 2;
  o.pp = 4;
  return o;
}

void simulate(const SimulateOptions& options) {
  const Result<Done> done = simulate_job(options);
  REQUIRE(done.ok());
}

struct Outcome {
  size_t instances = 0, wrong = 0, unknown_calls = 0;
  size_t shared = 0;  // true collectives that two or more files hold
  size_t found = 0;   // those that came out with all recorded members
  size_t complete = 0;
  double mean_wait_error_us = 0;
  InstanceTable table;
  JobReport report;
};

Outcome run(const SimulateOptions& options) {
  StageTimer timer;
  const auto files = discover_files({options.directory});
  REQUIRE(files.ok());
  const Result<IngestedJob> ingested = ingest_job(files.value(), {}, timer);
  REQUIRE(ingested.ok());
  const JobTrace& job = ingested.value().job;
  Outcome o;
  o.table = match_collectives(job);
  REQUIRE(check_invariants(o.table, job) == "");
  const ClockModel clocks = align_clocks(job, o.table, AlignMode::automatic);
  REQUIRE(check_invariants(clocks, job) == "");
  const Decomposition d = attribute_time(job, o.table, clocks);
  REQUIRE(check_invariants(d, o.table, job) == "");
  const Blame blame = find_blame(job, o.table, clocks, d);
  REQUIRE(check_invariants(blame, d) == "");
  o.report = build_report(job, o.table, clocks, d, blame, std::vector<RankSummary>(job.traces.size()));

  const CallTruth truth(options.directory);
  double error = 0;
  size_t judged = 0;
  for (const CollectiveInstance& i : o.table.instances) {
    ++o.instances;
    o.complete += i.complete ? 1 : 0;
    const CallTruth::Member* first = nullptr;
    bool wrong = false;
    for (size_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      const CallRef& ref = o.table.members[row];
      const RankTrace& trace = job[ref.trace];
      const CollectiveCall& call = trace.calls[static_cast<size_t>(ref.call)];
      const CallTruth::Member* member = truth.find(trace.rank.value, call, trace.resolution_ns);
      if (member == nullptr) {
        ++o.unknown_calls;
        continue;
      }
      if (first == nullptr) first = member;
      wrong = wrong || member->instance != first->instance;
      if (i.complete) {
        error += std::fabs(static_cast<double>(d.members[row].wait_ns - member->wait_ns)) / 1000;
        ++judged;
      }
    }
    o.wrong += wrong ? 1 : 0;
    if (!wrong && first != nullptr && truth.recorded[first->instance] == i.member_count) ++o.found;
  }
  for (const size_t n : truth.recorded) o.shared += n >= 2 ? 1 : 0;
  o.mean_wait_error_us = judged > 0 ? error / static_cast<double>(judged) : 0;
  return o;
}

}  // namespace

TEST_CASE(
    "TP x DP over two nodes with clocks 50 ms and 20 ppm apart: waits are right to 10 us and the slow rank leads") {
  const Folder folder("base");
  const SimulateOptions options = two_nodes(folder);
  simulate(options);
  const Outcome o = run(options);
  REQUIRE(o.wrong == 0);
  REQUIRE(o.unknown_calls == 0);
  REQUIRE(o.found == o.shared);
  REQUIRE(o.complete == o.shared);
  CHECK(o.mean_wait_error_us < 10);
  REQUIRE(o.report.stragglers.at(0).rank == 5);
  WARN("mean wait error " << o.mean_wait_error_us << " us over " << o.instances << " instances");
}

TEST_CASE("every style, vendor and compression of the simulator is matched without a wrong pair") {
  const std::tuple<TraceStyle, TraceVendor, const char*> variants[] = {
      {TraceStyle::era_a, TraceVendor::nvidia, ""},     {TraceStyle::era_c, TraceVendor::nvidia, "gzip"},
      {TraceStyle::era_e, TraceVendor::nvidia, "zstd"}, {TraceStyle::era_d, TraceVendor::amd, "gzip"},
      {TraceStyle::era_e, TraceVendor::amd, ""},        {TraceStyle::era_d, TraceVendor::cpu, ""},
  };
  for (const auto& [style, vendor, compression] : variants) {
    const Folder folder("styles");
    SimulateOptions options = two_nodes(folder);
    options.style = style;
    options.vendor = vendor;
    options.compression = compression;
    simulate(options);
    const Outcome o = run(options);
    INFO("style " << static_cast<int>(style) << " vendor " << static_cast<int>(vendor));
    REQUIRE(o.wrong == 0);
    CHECK(o.mean_wait_error_us < 10);
    // Without any group metadata only the whole job's group can be told from the ends; the rest is refused.
    const bool names_groups = style != TraceStyle::era_a && vendor != TraceVendor::cpu;
    if (!names_groups) continue;
    REQUIRE(o.found == o.shared);
    REQUIRE(o.report.stragglers.at(0).rank == 5);
  }
}

TEST_CASE("the report and its page are the same for one thread and two, and for any order of the files") {
  const Folder folder("order"), out("order_page");
  const SimulateOptions options = two_nodes(folder);
  simulate(options);
  std::vector<std::string> files = discover_files({options.directory}).value();
  const auto report = [&](const std::vector<std::string>& paths, size_t threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    StageTimer timer;
    const Result<JobReport> r = correlate(paths, {}, timer);
    REQUIRE(r.ok());
    const ReportStamp stamp{"0", "test", "now"};
    REQUIRE(write_report(r.value(), stamp, {out.path.string(), true, {"html"}}).ok());
    std::ifstream page(out.path / "index.html");
    return to_json(r.value(), stamp) + std::string(std::istreambuf_iterator<char>(page), {});
  };
  const std::string expected = report(files, 1);
  REQUIRE(expected.find("skewscope.page/1") != std::string::npos);
  REQUIRE(expected.find("\"stragglers\"") != std::string::npos);
  REQUIRE(report(files, 2) == expected);
  std::mt19937 random(5);
  for (int round = 0; round < 3; ++round) {
    std::shuffle(files.begin(), files.end(), random);
    REQUIRE(report(files, 2) == expected);
  }
}

TEST_CASE("with recorded Seq the match is by number, and gives the same instances as without") {
  const Folder folder("seq");
  SimulateOptions options = two_nodes(folder);
  options.style = TraceStyle::era_e;
  simulate(options);
  const Outcome with = run(options);
  options.style = TraceStyle::era_d;
  options.force = true;
  simulate(options);
  const Outcome without = run(options);
  REQUIRE((with.report.matching.method == "seq" || with.report.matching.method == "comms_id"));
  REQUIRE(without.report.matching.method == "fingerprint");
  REQUIRE(with.table.members == without.table.members);
}

TEST_CASE("a missing rank leaves instances incomplete and marked, and nothing is invented") {
  const Folder folder("missing");
  SimulateOptions options = two_nodes(folder);
  options.missing_ranks = {2};
  simulate(options);
  const Outcome o = run(options);
  REQUIRE(o.wrong == 0);
  REQUIRE(o.found == o.shared);
  REQUIRE(o.report.job.ranks_missing == std::vector<int32_t>{2});
  REQUIRE(o.report.matching.incomplete_instances > 0);
  // Groups without rank 2 stay complete: the other node's tensor parallel group.
  REQUIRE(o.complete > 0);
  REQUIRE(o.report.stragglers.at(0).rank == 5);
}

TEST_CASE("a window that starts one step late loses that step and no more") {
  const Folder folder("late");
  SimulateOptions options = two_nodes(folder);
  options.late_windows = {{6, 1}};
  simulate(options);
  const Outcome o = run(options);
  REQUIRE(o.wrong == 0);
  REQUIRE(o.found == o.shared);
  CHECK(o.mean_wait_error_us < 10);
  REQUIRE(o.report.stragglers.at(0).rank == 5);
}

TEST_CASE("clocks that are off by a step move no node's calls into another step") {
  for (const uint64_t seed : {1, 2, 3}) {
    const Folder folder("simulated");
    SimulateOptions o;
    o.directory = folder.path.string();
    o.nodes = 8;
    o.gpus_per_node = 8;
    o.tp = 8;
    o.steps = 6;  // of 24 ms, in which a data-parallel group meets twice
    o.slow_ranks = {{13, 1.3}};
    o.clock_offset_ms = 20;
    o.digests = true;
    o.seed = seed;
    simulate(o);
    StageTimer timer;
    const auto report = correlate({o.directory}, {}, timer);
    REQUIRE(report.ok());
    CAPTURE(seed);
    CHECK(report.value().matching.unmatched == 0);
    CHECK(report.value().matching.incomplete_instances == 0);
    CHECK(report.value().stragglers.front().rank == 13);
    CHECK(report.value().stragglers.front().standing == Standing::cause);
  }
}

TEST_CASE("one percent of kernels lost makes no wrong match") {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    const Folder folder("lost");
    SimulateOptions options = two_nodes(folder);
    options.lost_kernels = 0.01;
    options.seed = seed;
    simulate(options);
    const Outcome o = run(options);
    REQUIRE(o.wrong == 0);
    REQUIRE(o.found >= o.shared * 99 / 100);
    CHECK(o.mean_wait_error_us < 10);
    REQUIRE(o.report.stragglers.at(0).rank == 5);
  }
}

TEST_CASE("a pipeline's sends and receives pair up") {
  const Folder folder("pp");
  SimulateOptions options = two_nodes(folder);
  options.tp = 2;
  options.pp = 2;
  options.slow_ranks = {};
  simulate(options);
  const Outcome o = run(options);
  REQUIRE(o.wrong == 0);
  REQUIRE(o.found >= o.shared * 98 / 100);
}

TEST_CASE("a host that is late once a step is charged, though its kernels are as fast as its peers'") {
  const Folder folder("gap");
  SimulateOptions options = two_nodes(folder);
  options.slow_ranks = {};
  options.host_gaps = {{3, 20'000'000}};
  simulate(options);
  const Outcome o = run(options);
  REQUIRE(o.report.stragglers.at(0).rank == 3);
  CHECK(o.report.stragglers.at(0).cause == LateCause::host);
  CHECK(o.report.stragglers.at(0).standing == Standing::cause);
}

TEST_CASE("a rank 5 % slow in TP 8 x DP 8 comes first by propagated blame and by replay, not by direct blame alone") {
  const Folder folder("tp8dp8");
  SimulateOptions options = two_nodes(folder);
  options.nodes = 8;
  options.gpus_per_node = 8;
  options.tp = 8;
  options.steps = 4;
  options.slow_ranks = {{13, 1.05}};
  simulate(options);
  const JobReport report = run(options).report;
  const JobReport::Straggler& first = report.stragglers.at(0);
  REQUIRE(first.rank == 13);
  CHECK(first.cause == LateCause::slower_kernels);
  CHECK(first.standing == Standing::cause);
  CHECK(first.saved_share > 0.5);
  CHECK(first.wait_originated_ns > 2 * first.wait_caused_ns);
  for (size_t i = 1; i < report.stragglers.size(); ++i) {
    CHECK(report.stragglers[i].standing != Standing::cause);
    CHECK(report.stragglers[i].wait_originated_ns * 5 < first.wait_originated_ns);
  }
  // Unchanged, the replay takes as long as the job did, to a thousandth.
  CHECK(std::llabs(report.what_if.replayed_ns - report.what_if.recorded_ns) * 1000 < report.what_if.recorded_ns);
}

TEST_CASE("a slow rank of a pipeline is told from the pipeline's own fill") {
  const Folder folder("pp_slow");
  SimulateOptions options = four_stages(folder);
  options.slow_ranks = {{5, 1.1}};
  simulate(options);
  const JobReport report = run(options).report;
  REQUIRE(report.stragglers.at(0).rank == 5);
  CHECK(report.stragglers.at(0).standing == Standing::cause);
  CHECK(report.stragglers.at(0).cause == LateCause::slower_kernels);
  CHECK(report.stragglers.at(1).cause == LateCause::program);
}

TEST_CASE(
    "a whole stage that takes longer makes none of its ranks a cause, and one micro-batch gains nothing by balance") {
  const Folder folder("stage");
  SimulateOptions options = four_stages(folder);
  options.slow_ranks = {{12, 1.3}, {13, 1.3}, {14, 1.3}, {15, 1.3}};
  simulate(options);
  const JobReport report = run(options).report;
  for (const JobReport::Straggler& s : report.stragglers) CHECK(s.standing != Standing::cause);
  const auto& programs = report.what_if.programs;
  REQUIRE(programs.size() == 4);
  CHECK(programs[3].ranks == std::vector<int32_t>{12, 13, 14, 15});
  CHECK(programs[3].work_ns > programs[1].work_ns * 12 / 10);
  // A single micro-batch passes every stage in turn: work moved to another stage is still on its way.
  CHECK(programs[3].saved_ns * 100 < report.what_if.replayed_ns);
}

TEST_CASE("jobs in which nobody is slow name no cause") {
  for (const uint64_t seed : {1U, 2U, 3U, 4U}) {
    for (const int32_t tp : {1, 2, 4}) {
      const Folder folder("healthy");
      SimulateOptions options = two_nodes(folder);
      options.tp = tp;
      options.seed = seed;
      options.slow_ranks = {};
      simulate(options);
      const JobReport report = run(options).report;
      CAPTURE(seed, tp);
      for (const JobReport::Straggler& s : report.stragglers) CHECK(s.standing != Standing::cause);
      CHECK(report.what_if.together.empty());
    }
  }
}

TEST_CASE("a whole slow node is named together") {
  const Folder folder("node");
  SimulateOptions options = two_nodes(folder);
  options.nodes = 4;
  options.slow_ranks = {{4, 1.2}, {5, 1.2}, {6, 1.2}, {7, 1.2}};
  simulate(options);
  const JobReport report = run(options).report;
  CHECK(report.what_if.together == std::vector<int32_t>{4, 5, 6, 7});
  CHECK(report.what_if.together_saved_ns * 20 > report.what_if.replayed_ns);
  CHECK(terminal_summary(report, "", false).find("Ranks 4-7 together cause") != std::string::npos);
}

TEST_CASE("a culprit whose own groups lack members is named where other groups are whole") {
  const Folder folder("incomplete_culprit");
  SimulateOptions options;
  options.directory = folder.path.string();
  options.nodes = 3;
  options.steps = 3;
  options.layers = 2;
  options.slow_ranks = {{4, 2.0}};
  options.missing_ranks = {7, 8, 9, 10, 11};
  REQUIRE(simulate_job(options).ok());
  StageTimer timer;
  const auto report = correlate({folder.path.string()}, {}, timer);
  REQUIRE(report.ok());
  const std::string text = terminal_summary(report.value(), "", false);
  INFO(text);
  CHECK(text.find("Rank 4 causes") != std::string::npos);
  CHECK(text.find("of these ranks)") != std::string::npos);
}
