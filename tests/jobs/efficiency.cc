// Efficiency and what-if of simulated jobs against the simulator's own truth, whether kernels or hosts set the pace.
#include <catch2/catch.hpp>
#include <cmath>

#include "job_truth.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

struct NamedJob {
  std::string name;
  SimulateOptions options;
};

SimulateOptions compute_bound() {
  SimulateOptions o;
  o.digests = true;
  o.clock_offset_ms = 50;
  return o;
}

// Kernels of 3 us, launched every 10.
SimulateOptions launch_bound() {
  SimulateOptions o = compute_bound();
  o.layer_compute_ns = 20'000;
  return o;
}

// Each of the two with nobody slow, a slow rank, a slow link, a slow host, and as a pipeline; and what lies between
// them.
std::vector<NamedJob> jobs() {
  std::vector<NamedJob> all;
  for (const bool short_kernels : {false, true}) {
    const SimulateOptions usual = short_kernels ? launch_bound() : compute_bound();
    const std::string kind = short_kernels ? "launch-bound" : "compute-bound";
    all.push_back({kind, usual});
    all.push_back({kind + ", slow rank", usual});
    all.back().options.slow_ranks = {{5, short_kernels ? 8 : 1.1}};
    all.push_back({kind + ", slow link", usual});
    all.back().options.slow_links = {{6, 5}};
    all.push_back({kind + ", slow host", usual});
    all.back().options.host_gaps = {{3, short_kernels ? 1'000'000 : 5'000'000}};
    all.push_back({kind + ", pipeline", usual});
    all.back().options.nodes = 4;
    all.back().options.tp = all.back().options.pp = 2;
  }
  all.push_back({"kernels about as long as their launches", compute_bound()});
  all.back().options.layer_compute_ns = 100'000;
  all.push_back({"slow launches", compute_bound()});
  all.back().options.launch_factor = 20;
  return all;
}

double saved_by(const JobReport& report, int32_t rank) {
  for (const JobReport::Straggler& one : report.stragglers) {
    if (one.rank == rank) return static_cast<double>(one.saved_ns);
  }
  return -1;
}

double elapsed_ns(SimulateOptions options, const std::string& folder_name) {
  const Folder folder(folder_name);
  options.directory = folder.path.string();
  REQUIRE(simulate_job(options).ok());
  return JobTruth(options.directory).elapsed_ns;
}

}  // namespace

TEST_CASE("efficiencies of simulated jobs are the simulator's within half a percent") {
  for (NamedJob& job : jobs()) {
    const Folder folder("efficiency");
    job.options.directory = folder.path.string();
    REQUIRE(simulate_job(job.options).ok());
    const JobTruth truth(job.options.directory);
    const JobReport::Efficiency e = correlated(job.options.directory).report.efficiency;
    const std::map<std::string, double> found = {
        {"parallel", e.parallel},           {"load_balance", e.load_balance},
        {"communication", e.communication}, {"serialization", e.serialization},
        {"transfer", e.transfer},           {"gpu_communication", e.gpu_communication},
        {"orchestration", e.orchestration}};
    for (const auto& [name, value] : found) {
      CAPTURE(job.name, name);
      CHECK(value == Approx(truth.efficiency.at(name)).epsilon(0.005));
    }
    CAPTURE(job.name);
    CHECK(std::fabs(e.parallel - e.load_balance * e.serialization * e.transfer) < 1e-9);
    CHECK(std::fabs(e.parallel - e.load_balance * e.gpu_communication * e.orchestration) < 1e-9);
  }
}

TEST_CASE("what a network could save is told where some kernels are lost, and not where a rank is missing") {
  const Folder folder("missing_transfer");
  SimulateOptions options = compute_bound();
  options.nodes = options.gpus_per_node = options.tp = 4;
  options.directory = folder.path.string();
  options.lost_kernels = 0.001;
  REQUIRE(simulate_job(options).ok());
  CHECK(correlated(options.directory).report.efficiency.transfer ==
        Approx(JobTruth(options.directory).efficiency.at("transfer")).epsilon(0.01));
  options.lost_kernels = 0;
  options.missing_ranks = {5};
  options.force = true;
  REQUIRE(simulate_job(options).ok());
  const JobReport missing = correlated(options.directory).report;
  CHECK(missing.efficiency.transfer < 0);  // not determined
  CHECK(missing.efficiency.serialization < 0);
  CHECK(missing.efficiency.parallel > 0);
  CHECK(missing.what_if.balanced_ns > 0);
  CHECK(missing.what_if.no_transfer_ns < 0);
}

TEST_CASE("where no collective is complete nobody is called the cause") {
  const Folder folder("all_incomplete");
  SimulateOptions options = compute_bound();
  options.nodes = 4;
  options.gpus_per_node = 2;
  options.tp = 1;
  options.slow_ranks = {{0, 1.2}};
  options.missing_ranks = {3};
  options.directory = folder.path.string();
  REQUIRE(simulate_job(options).ok());
  for (const JobReport::Straggler& one : correlated(options.directory).report.stragglers)
    CHECK_FALSE(one.standing.has_value());
}

TEST_CASE("a launch-bound job gains by an ideal network what its hosts allow, and no more") {
  const Folder folder("launch_bound");
  SimulateOptions options = launch_bound();
  options.directory = folder.path.string();
  REQUIRE(simulate_job(options).ok());
  const JobReport::Efficiency e = correlated(options.directory).report.efficiency;
  // Half of the time is exposed communication, and most of that hides launches.
  CHECK(e.gpu_communication < 0.2);
  CHECK(e.transfer == Approx(JobTruth(options.directory).efficiency.at("transfer")).epsilon(0.005));
  CHECK(e.transfer > 0.7);
}

TEST_CASE("what a culprit's repair saves is what the job without its fault is shorter, within five percent") {
  std::vector<NamedJob> culprits;
  const auto add = [&](const std::string& name, const SimulateOptions& options) {
    culprits.push_back({name, options});
  };
  for (const SimulateOptions& usual : {compute_bound(), launch_bound()}) {
    const bool short_kernels = usual.layer_compute_ns < 100'000;
    SimulateOptions o = usual;
    o.slow_ranks = {{5, short_kernels ? 8 : 1.1}};
    add("slow rank", o);
    o = usual;
    o.host_gaps = {{5, short_kernels ? 1'000'000 : 5'000'000}};  // the first of them before its first row
    add("slow host", o);
    o.late_windows = {{2, 3}};  // another rank's recording begins in the fourth step
    add("slow host, another rank recorded later", o);
  }
  for (const NamedJob& job : culprits) {
    const Folder folder("culprit");
    SimulateOptions options = job.options, repaired = job.options;
    options.directory = folder.path.string();
    repaired.slow_ranks.clear();
    repaired.host_gaps.clear();
    REQUIRE(simulate_job(options).ok());
    const double gained = JobTruth(options.directory).elapsed_ns - elapsed_ns(repaired, "repaired");
    CAPTURE(job.name, options.layer_compute_ns);
    CHECK(saved_by(correlated(options.directory).report, 5) == Approx(gained).epsilon(0.05));
  }
}

TEST_CASE("a rank whose recording begins later is no imbalance") {
  const Folder folder("late_window");
  SimulateOptions options = compute_bound();
  options.directory = folder.path.string();
  options.steps = 5;
  options.late_windows = {{5, 2}};
  REQUIRE(simulate_job(options).ok());
  const JobReport report = correlated(options.directory).report;
  const JobTruth truth(options.directory);
  CHECK(report.efficiency.load_balance == Approx(truth.efficiency.at("load_balance")).margin(0.005));
  CHECK(report.efficiency.parallel == Approx(truth.efficiency.at("parallel")).margin(0.01));
  const auto said = std::find_if(report.diagnostics.begin(), report.diagnostics.end(),
                                 [](const Finding& finding) { return finding.code.text() == "windows-differ"; });
  REQUIRE(said != report.diagnostics.end());
  CHECK(said->count == 2);
}
