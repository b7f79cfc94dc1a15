// Nodes of one job recorded by different tracers are one job: its report is that of the Kineto traces of all nodes, as
// far as the other tracer tells. And what tracers left of different jobs is different jobs.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <set>

#include "skewscope/correlate.h"
#include "skewscope/simulate.h"
#include "tests/real_trace_folder.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::Folder;
using skewscope::test::formats;
namespace fs = std::filesystem;

namespace {

SimulateOptions two_nodes() {
  SimulateOptions o;
  o.style = TraceStyle::era_e;
  o.steps = 5;
  o.layers = 4;
  o.tp = 2;
  o.clock_offset_ms = 3;
  o.slow_ranks = {{5, 1.4}};
  o.cpu_rows_per_kernel = 0;
  return o;
}

void simulate_in(const Folder& folder, SimulateOptions o, const std::string& format) {
  o.directory = (folder.path / format).string();
  o.format = format == "kineto" ? "" : format;
  REQUIRE(simulate_job(o).ok());
}

// Whether a file of a simulated job is of node 1: "node1...", or a trace of rank 4 to 7.
bool is_of_second_node(const std::string& name) {
  return name.starts_with("node1") || (name.starts_with("rank") && name[4] >= '4');
}

// The job whose first node one tracer recorded and whose second another.
JobReport report_of_both(const SimulateOptions& options, const std::string& first, const std::string& second) {
  const Folder folder("several_tracers");
  simulate_in(folder, options, first);
  simulate_in(folder, options, second);
  fs::create_directories(folder.path / "job");
  for (const std::string& format : {first, second}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.path / format)) {
      const std::string name = entry.path().filename().string();
      if (name == "truth.json" || is_of_second_node(name) != (format == second)) continue;
      fs::rename(entry.path(), folder.path / "job" / name);
    }
  }
  StageTimer timer;
  Result<JobReport> report = correlate({(folder.path / "job").string()}, {}, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

JobReport report_of_one(const SimulateOptions& options) {
  const Folder folder("one_tracer");
  simulate_in(folder, options, "kineto");
  StageTimer timer;
  Result<JobReport> report = correlate({(folder.path / "kineto").string()}, {}, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

using InstanceWaits = std::map<std::string, std::map<int32_t, int64_t>>;

// Operation, ranks of the communicator, and how many there were of these before, by a rank -> waits by rank. With the
// ranks of every instance, so that a wrong match is a difference.
InstanceWaits waits_by_instance(const JobReport& report) {
  std::map<int32_t, std::map<int32_t, const JobReport::CallRow*>> instances;
  for (const JobReport::CallRow& call : report.calls) instances[call.instance].emplace(call.rank, &call);
  InstanceWaits waits;
  std::map<std::string, int64_t> number;
  for (const auto& [instance, calls] : instances) {
    const JobReport::CallRow& any = *calls.begin()->second;
    std::string name = fmt::format("{} of", to_string(any.op));
    for (const int32_t rank : report.communicators[static_cast<size_t>(any.communicator)].ranks) {
      name += fmt::format(" {}", rank);
    }
    for (const auto& [rank, call] : calls) name += fmt::format(", {}", rank);
    name += fmt::format(" #{}", number[name]++);
    for (const auto& [rank, call] : calls) waits[name][rank] = call->wait_ns;
  }
  return waits;
}

void same_waits(const JobReport& mixed, const JobReport& kineto, int64_t within_ns) {
  CHECK(mixed.matching.calls == kineto.matching.calls);
  CHECK(mixed.matching.unmatched == 0);
  CHECK(mixed.components.size() == 1);
  const InstanceWaits a = waits_by_instance(mixed), b = waits_by_instance(kineto);
  REQUIRE(a.size() == b.size());
  int64_t most = 0;
  for (const auto& [call, waits] : b) {
    INFO(call);
    REQUIRE(a.count(call) == 1);
    for (const auto& [rank, wait] : waits) most = std::max(most, std::abs(a.at(call).at(rank) - wait));
  }
  CHECK(most <= within_ns);
}

std::set<std::string> names_of(const JobReport& report) {
  std::set<std::string> names;
  for (const auto& communicator : report.communicators) names.insert(communicator.name);
  return names;
}

}  // namespace

TEST_CASE("one node under Kineto and one under Nsight Systems give the waits of Kineto on both") {
  const JobReport mixed = report_of_both(two_nodes(), "kineto", "nsys"), kineto = report_of_one(two_nodes());
  same_waits(mixed, kineto, 1'000);
  SECTION("groups that both nodes are in have the names that Kineto gives them") {
    const std::set<std::string> names = names_of(mixed);
    CHECK(names.count("0") == 1);
    CHECK(names.count("1") == 1);
  }
}

TEST_CASE("so do a pipeline's stages, experts and sharded parameters") {
  SimulateOptions pipeline = two_nodes();
  pipeline.pp = 2;
  pipeline.micro_batches = 4;
  same_waits(report_of_both(pipeline, "kineto", "nsys"), report_of_one(pipeline), 1'000);
  SimulateOptions experts = two_nodes();
  experts.experts = 2;
  same_waits(report_of_both(experts, "kineto", "nsys"), report_of_one(experts), 1'000);
  SimulateOptions sharded = two_nodes();
  sharded.tp = 1;
  sharded.fsdp = true;
  same_waits(report_of_both(sharded, "kineto", "nsys"), report_of_one(sharded), 1'000);
}

TEST_CASE("one node under Kineto and one whose NCCL logged give the waits of Kineto on both, to what a log rounds") {
  same_waits(report_of_both(two_nodes(), "kineto", "nccl-inspector"), report_of_one(two_nodes()), 10'000);
}

TEST_CASE("JAX's profile of one node and Nsight Systems' of the other give the waits of Kineto on both") {
  same_waits(report_of_both(two_nodes(), "nsys", "xplane"), report_of_one(two_nodes()), 1'000);
}

TEST_CASE("recorded files of nine jobs and seven tracers in one folder are nine jobs") {
  const std::string path = formats("");
  if (path.empty()) return;
  StageTimer timer;
  const auto files = discover_files({path});
  REQUIRE(files.ok());
  const Result<InspectedFiles> found = inspect_files(files.value(), {}, timer);
  REQUIRE(found.ok());
  std::multiset<int32_t> ranks;
  for (const InspectedJob& job : found.value().jobs) ranks.insert(job.ranks);
  CHECK(ranks == std::multiset<int32_t>{1, 1, 2, 2, 2, 2, 4, 4, 8});
}
