// Families of one job at several sizes, against the simulator's own truth.
#include <catch2/catch.hpp>
#include <cmath>

#include "job_truth.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

constexpr int64_t kWorkNs = 8'000'000;  // per layer and direction, of 8 ranks; shared by more
constexpr int64_t kSerialNs = 500'000;  // that every rank repeats
constexpr int32_t kSizes[] = {8, 16, 32, 64};

// Strong scaling by data parallelism over nodes of 8.
SimulateOptions member(const Folder& folder, int32_t ranks) {
  SimulateOptions o;
  o.directory = (folder.path / std::to_string(ranks)).string();
  o.nodes = ranks / 8;
  o.gpus_per_node = o.tp = 8;
  o.layers = 4;
  o.steps = 10;
  o.digests = true;
  o.clock_offset_ms = 5;
  o.layer_compute_ns = kWorkNs * 8 / ranks + kSerialNs;
  return o;
}

struct Family {
  std::vector<JobTruth> truths;
  ScaleReport report;
};

Family family(const Folder& folder, const std::vector<SimulateOptions>& members) {
  Family out;
  std::vector<NamedReport> runs;
  std::filesystem::create_directories(folder.path);
  for (const SimulateOptions& options : members) {
    REQUIRE(simulate_job(options).ok());
    out.truths.emplace_back(options.directory);
    runs.push_back(correlated(options.directory));
  }
  auto scaled = scale_runs(runs);
  REQUIRE(scaled.ok());
  out.report = std::move(scaled).value();
  return out;
}

// What the truth says of a factor of a run; computation scaling is against the first.
double true_factor(const Family& f, size_t run, const std::string& factor) {
  if (factor == "computation_scaling") return f.truths[0].compute_ns / f.truths[run].compute_ns;
  return f.truths[run].efficiency.at(factor);
}

double true_global(const Family& f, size_t run) {
  return true_factor(f, run, "parallel") * true_factor(f, run, "computation_scaling");
}

const ScaleReport::Loss& loss_of(const ScaleReport& report, int32_t to, const std::string& factor) {
  for (const ScaleReport::Loss& loss : report.losses) {
    if (report.runs[static_cast<size_t>(loss.to)].world_size == to && to_string(loss.factor) == factor) return loss;
  }
  throw std::logic_error("no loss " + factor);
}

// Points of a factor, from the run in front of `run` to it.
double true_points(const Family& f, size_t run, const std::string& factor) {
  const double before = true_global(f, run - 1), after = true_global(f, run);
  const double mean = (after - before) / std::log(after / before);
  return -100 * mean * std::log(true_factor(f, run, factor) / true_factor(f, run - 1, factor));
}

// Points of every factor, between all neighbours, are those of the true factors; they sum to the change, and the causes
// of each to its points.
void check_points(const Family& f) {
  for (const ScaleReport::Loss& loss : f.report.losses) {
    double points = 0;
    for (const ScaleReport::Cause& cause : loss.causes) points += cause.points;
    CAPTURE(loss.from, to_string(loss.factor));
    if (!loss.causes.empty()) CHECK(points == Approx(loss.points));
  }
  for (size_t run = 1; run < f.truths.size(); ++run) {
    double sum = 0;
    for (const char* factor : {"computation_scaling", "load_balance", "serialization", "transfer"}) {
      const double points = loss_of(f.report, kSizes[run], factor).points;
      CAPTURE(run, factor);
      CHECK(points == Approx(true_points(f, run, factor)).margin(2));
      sum += points;
    }
    for (const char* factor : {"gpu_communication", "orchestration"}) {
      CAPTURE(run, factor);
      CHECK(loss_of(f.report, kSizes[run], factor).points == Approx(true_points(f, run, factor)).margin(2));
    }
    const auto& runs = f.report.runs;
    CHECK(std::fabs(sum - 100 * (runs[run - 1].global - runs[run].global)) < 1e-9);
  }
}

// Points that loss of transfer at 64 ranks is charged to data-parallel groups with.
double charged_to_data_parallel(const Family& f) {
  double points = 0;
  for (const ScaleReport::Cause& cause : loss_of(f.report, 64, "transfer").causes) {
    if (cause.communicator == "DATA_PARALLEL_GROUP") points += cause.points;
  }
  return points;
}

// Points that loss of serialization at a size is charged to hosts with.
double charged_to_hosts(const Family& f, int32_t to) {
  double points = 0;
  for (const ScaleReport::Cause& cause : loss_of(f.report, to, "serialization").causes) {
    if (cause.kind == LossCause::host) points += cause.points;
  }
  return points;
}

}  // namespace

TEST_CASE("a family of 8 to 64 ranks with a serial part and a slow link is explained within two points") {
  const Folder folder("family"), healthy_folder("healthy_family");
  std::vector<SimulateOptions> members, healthy_members;
  for (const int32_t ranks : kSizes) {
    members.push_back(member(folder, ranks));
    healthy_members.push_back(member(healthy_folder, ranks));
  }
  members.back().slow_links = {{59, 4}};  // rank 59 is the fourth of the last node
  const Family f = family(folder, members), healthy = family(healthy_folder, healthy_members);
  CHECK(f.report.scaling == Scaling::strong);
  CHECK_FALSE(f.report.scaling_given);

  check_points(f);

  // The serial part: of 4 layers in both directions, every rank repeats half a millisecond; all compute it.
  const ScaleReport::Loss& serial = loss_of(f.report, 64, "computation_scaling");
  REQUIRE_FALSE(serial.causes.empty());
  CHECK(serial.causes[0].ranks.size() == 64);
  const double excess = 0.5 * 8 * kSerialNs;  // half of it would be left of 32 ranks' by ideal scaling
  CHECK(serial.causes[0].after_ns - serial.causes[0].before_ns == Approx(excess).epsilon(0.1));

  // The slow link: what the job lost by it is charged to the one data-parallel group that crosses it.
  const double injected = 100 * (true_global(healthy, 3) - true_global(f, 3));
  const double named = charged_to_data_parallel(f) - charged_to_data_parallel(healthy);
  CHECK(injected > 4);
  CHECK(named == Approx(injected).margin(2));
  const ScaleReport::Cause& link = loss_of(f.report, 64, "transfer").causes.at(0);
  CHECK(link.communicator == "DATA_PARALLEL_GROUP");
  CHECK(link.communicators.size() == 1);
}

TEST_CASE("a family that becomes launch-bound as it grows loses to its hosts, not to the network") {
  const Folder folder("launch_bound_family"), healthy_folder("launch_bound_healthy");
  std::vector<SimulateOptions> members, healthy_members;
  for (const int32_t ranks : kSizes) {
    members.push_back(member(folder, ranks));
    members.back().layer_compute_ns = 2'000'000 * 8 / ranks + 20'000;
    members.back().launch_factor = 6;
    healthy_members.push_back(members.back());
    healthy_members.back().directory = (healthy_folder.path / std::to_string(ranks)).string();
  }
  members.back().slow_links = {{59, 8}};
  const Family f = family(folder, members), healthy = family(healthy_folder, healthy_members);
  check_points(f);
  check_points(healthy);
  CHECK(loss_of(healthy.report, 64, "serialization").points > 5);
  CHECK(std::fabs(loss_of(healthy.report, 64, "transfer").points) < 5);
  // Where much is lost, what the link takes counts more than its removal alone would give: its true points are those of
  // the change of the true factor.
  const double injected = true_points(f, 3, "transfer") - true_points(healthy, 3, "transfer");
  CHECK(injected > 4);
  CHECK(charged_to_data_parallel(f) - charged_to_data_parallel(healthy) == Approx(injected).margin(2));
}

TEST_CASE("a family whose hosts fall behind as it grows loses to the hosts, by what prompt hosts would have saved") {
  const Folder folder("late_hosts"), prompt_folder("prompt_hosts");
  std::vector<SimulateOptions> members, prompt_members;
  for (const int32_t ranks : kSizes) {
    members.push_back(member(folder, ranks));
    members.back().layer_compute_ns = 2'000'000 * 8 / ranks + 20'000;
    prompt_members.push_back(members.back());
    prompt_members.back().directory = (prompt_folder.path / std::to_string(ranks)).string();
    members.back().launch_factor = 6;
  }
  const Family f = family(folder, members), prompt = family(prompt_folder, prompt_members);
  check_points(f);
  double injected_by_all = 0;
  for (size_t run = 1; run < 4; ++run) {
    const double injected = true_points(f, run, "serialization") - true_points(prompt, run, "serialization");
    CAPTURE(run, injected);
    CHECK(charged_to_hosts(f, kSizes[run]) - charged_to_hosts(prompt, kSizes[run]) == Approx(injected).margin(2));
    injected_by_all += injected;
  }
  CHECK(injected_by_all > 40);
  for (const int32_t size : {32, 64}) {  // whose hosts are behind
    CAPTURE(size);
    for (const char* factor : {"serialization", "orchestration"}) {
      const ScaleReport::Cause& first = loss_of(f.report, size, factor).causes.at(0);
      CHECK(first.kind == LossCause::host);
      CHECK(first.ranks.size() == static_cast<size_t>(size));
    }
  }
}

TEST_CASE("a rank that holds up a job of every size is named as what the waits are for") {
  const Folder folder("serial_rank");
  std::vector<SimulateOptions> members;
  for (const int32_t ranks : {8, 16, 32}) {
    members.push_back(member(folder, ranks));
    members.back().host_gaps = {{3, 4'000'000}};
  }
  const Family f = family(folder, members);
  const ScaleReport::Loss& loss = loss_of(f.report, 32, "serialization");
  CHECK(loss.points > 2);
  REQUIRE_FALSE(loss.causes.empty());
  CHECK(loss.causes[0].kind == LossCause::host);
  CHECK(loss.causes[0].ranks == std::vector<int32_t>{3});
}

TEST_CASE("equal work per rank is weak scaling, and its speed-up counts the work") {
  const Folder folder("weak");
  std::vector<SimulateOptions> members;
  for (const int32_t ranks : {8, 16}) {
    members.push_back(member(folder, ranks));
    members.back().layer_compute_ns = 2'000'000;
  }
  members.back().late_windows = {{5, 4}};  // what a rank did not record is no work saved
  const Family f = family(folder, members);
  CHECK(f.report.scaling == Scaling::weak);
  const ScaleReport::Run& large = f.report.runs[1];
  CHECK(large.speedup == Approx(2 * f.report.runs[0].step_ns / large.step_ns));
  CHECK(large.throughput_per_gpu == Approx(f.report.runs[0].step_ns / large.step_ns));
  CHECK(large.computation_scaling == Approx(1).epsilon(0.01));
  CHECK(f.report.projection.points.empty());
  CHECK(f.report.projection.refusal.find("too few") != std::string::npos);
}
