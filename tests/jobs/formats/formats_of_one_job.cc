// One simulated job, written in two formats: the reports differ in nothing but what a format cannot tell.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "skewscope/correlate.h"
#include "skewscope/ingest/make_digests.h"
#include "skewscope/report.h"
#include "skewscope/simulate.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using skewscope::test::Folder;
using ReportJson = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// What no NVTX range of NCCL tells: what the groups are for.
void forget_descriptions(const fs::path& folder) {
  static const std::regex kDescription(R"re(("(?:pg_desc|Process Group Description)": )"[^"]*")re");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() == "truth.json") continue;
    std::ifstream in(entry.path());
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    std::ofstream(entry.path()) << std::regex_replace(text, kDescription, R"($1"")");
  }
}

// Without what differs on purpose: names of the job, of files and of groups, types that no kernel names, and the word
// on which ranges were taken for steps.
ReportJson without_names(ReportJson report) {
  report["job"].erase("name");
  report["job"].erase("software");  // which Kineto alone tells
  for (ReportJson& job : report["jobs_found"]) {
    job.erase("name");
    job.erase("first_file");
  }
  for (ReportJson& communicator : report["communicators"]) communicator.erase("name");
  for (ReportJson& row : report["collectives"]) row.erase("dtype");
  ReportJson& findings = report["diagnostics"];
  for (size_t i = findings.size(); i-- > 0;) {
    if (findings[i]["code"] == "steps-from-range")
      findings.erase(i);
    else
      findings[i].erase("file");
  }
  return report;
}

ReportJson report_without_names(const fs::path& folder) {
  StageTimer timer;
  const Result<JobReport> report = correlate({folder.string()}, {}, timer);
  REQUIRE(report.ok());
  return without_names(ReportJson::parse(to_json(report.value(), {})));
}

// The first difference, as a path and both values; "": none.
std::string first_difference(const ReportJson& a, const ReportJson& b) {
  const ReportJson patch = ReportJson::diff(a, b);
  if (patch.empty()) return "";
  const std::string path = patch[0]["path"];
  return path + ": " +
         (a.contains(ReportJson::json_pointer(path)) ? a.at(ReportJson::json_pointer(path)).dump() : "absent") +
         " and " + patch[0].dump();
}

void same_in_both(SimulateOptions options) {
  const Folder kineto("formats_kineto"), nsys("formats_nsys");
  options.directory = kineto.path.string();
  REQUIRE(simulate_job(options).ok());
  forget_descriptions(kineto.path);
  options.directory = nsys.path.string();
  options.format = "nsys";
  REQUIRE(simulate_job(options).ok());
  CHECK(first_difference(report_without_names(kineto.path), report_without_names(nsys.path)).empty());
}

// Without what a profile of JAX does not tell: in which pass a call was launched, by which rows of overlap and parts of
// gains are apart; and a step ends with its program's launches, not with Python's range. Runs are its keys.
ReportJson without_passes(ReportJson report) {
  report["matching"].erase("method");
  for (ReportJson& step : report["steps"]) step.erase("host_duration_ns");
  for (ReportJson& operation : report["what_if"]["operations"]) operation.erase("parts");
  ReportJson sums = {{"calls", 0}, {"time_ns", 0}, {"wait_ns", 0}, {"transfer_ns", 0}, {"exposed_wait_ns", 0}};
  for (const ReportJson& row : report["overlap"]) {
    for (auto& [name, sum] : sums.items()) sum = sum.get<int64_t>() + row.at(name).get<int64_t>();
  }
  report["overlap"] = sums;
  return report;
}

void same_in_profiles(SimulateOptions options) {
  const Folder kineto("formats_of_kineto"), profiles("formats_xplane");
  options.directory = kineto.path.string();
  REQUIRE(simulate_job(options).ok());
  forget_descriptions(kineto.path);
  options.directory = profiles.path.string();
  options.format = "xplane";
  REQUIRE(simulate_job(options).ok());
  CHECK(first_difference(without_passes(report_without_names(kineto.path)),
                         without_passes(report_without_names(profiles.path))) == "");
}

// Without what Perfetto's traces of PyTorch do not tell: whose GPUs these are, and with them their links.
ReportJson without_devices(ReportJson report) {
  for (ReportJson& rank : report["ranks"]) rank.erase("device_name");
  for (ReportJson& communicator : report["communicators"]) {
    for (const char* const key : {"link", "link_peak_gb_per_s"}) communicator.erase(key);
  }
  return report;
}

void same_in_perfetto(SimulateOptions options) {
  const Folder kineto("formats_beside_perfetto"), perfetto("formats_perfetto");
  options.directory = kineto.path.string();
  REQUIRE(simulate_job(options).ok());
  options.directory = perfetto.path.string();
  options.format = "pftrace";
  REQUIRE(simulate_job(options).ok());
  CHECK(first_difference(without_devices(report_without_names(kineto.path)),
                         without_devices(report_without_names(perfetto.path))) == "");
}

SimulateOptions eight_ranks() {
  SimulateOptions options;
  options.steps = 5;
  options.layers = 4;
  options.clock_offset_ms = 5;
  options.slow_ranks = {{5, 1.3}};
  options.cpu_rows_per_kernel = 1;
  return options;
}

}  // namespace

TEST_CASE("exports of Nsight Systems give the report of the Kineto traces of the same job") {
  same_in_both(eight_ranks());
}

TEST_CASE("so do those of pipelines, of experts whose messages are all-to-alls, and of sharded parameters") {
  SimulateOptions pipeline = eight_ranks();
  pipeline.tp = 2;
  pipeline.pp = 2;
  pipeline.micro_batches = 4;
  same_in_both(pipeline);
  SimulateOptions experts = eight_ranks();
  experts.tp = 2;
  experts.experts = 2;
  experts.busy_experts = {{3, 1.5}};
  same_in_both(experts);
  SimulateOptions sharded = eight_ranks();
  sharded.tp = 1;
  sharded.fsdp = true;
  same_in_both(sharded);
}

TEST_CASE("so do those of a job with late windows, lost kernels, and waits of streams that were recorded") {
  SimulateOptions options = eight_ranks();
  options.late_windows = {{3, 1}};
  options.lost_kernels = 0.01;
  options.sync_events = true;
  same_in_both(options);
}

TEST_CASE("profiles of JAX give the report of the Kineto traces of the same job, but for passes of the model") {
  same_in_profiles(eight_ranks());
  SimulateOptions pipeline = eight_ranks();
  pipeline.tp = 2;
  pipeline.pp = 2;
  pipeline.micro_batches = 4;
  same_in_profiles(pipeline);
  SimulateOptions late = eight_ranks();
  late.late_windows = {{3, 1}};
  same_in_profiles(late);
}

TEST_CASE("Perfetto's traces of PyTorch give the report of the Kineto traces of the same job, but for names of GPUs") {
  same_in_perfetto(eight_ranks());
  SimulateOptions pipeline = eight_ranks();
  pipeline.tp = 2;
  pipeline.pp = 2;
  pipeline.micro_batches = 4;
  pipeline.sync_events = true;
  same_in_perfetto(pipeline);
  SimulateOptions sharded = eight_ranks();
  sharded.tp = 1;
  sharded.fsdp = true;
  sharded.lost_kernels = 0.01;
  same_in_perfetto(sharded);
  SimulateOptions experts = eight_ranks();
  experts.tp = 2;
  experts.experts = 2;
  experts.busy_experts = {{3, 1.5}};
  same_in_perfetto(experts);
}

TEST_CASE("digests of exports of several ranks give their report") {
  const Folder job("formats_job"), digests("formats_digests");
  SimulateOptions options = eight_ranks();
  options.directory = job.path.string();
  options.format = "nsys";
  REQUIRE(simulate_job(options).ok());
  const auto files = discover_files({job.path.string()});
  REQUIRE(files.ok());
  CHECK(files.value().size() == 2);
  REQUIRE(make_digests(files.value(), digests.path.string(), false, {}).ok());
  CHECK(first_difference(report_without_names(job.path), report_without_names(digests.path)).empty());
}
