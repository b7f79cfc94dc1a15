// Pipelines: what their messages show of them, and how much of the job is bubble. Truth is the simulator's, which knows
// when each rank ran a pass; a second simulation, with even stages or twice the micro-batches; and the program that
// made a recorded job (scripts/recorded_messages.py).
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "job_truth.h"
#include "tests/temporary_folder.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

const std::filesystem::path kRecorded = std::filesystem::path(SKEWSCOPE_SOURCE_DIR) / "tests" / "data" / "real";
constexpr double kTwoPoints = 0.02, kThreePoints = 0.03;

// Two replicas of `pp` stages.
SimulateOptions pipeline_job(int32_t pp, int32_t micro_batches, int32_t virtual_stages) {
  SimulateOptions o;
  o.digests = true;
  o.gpus_per_node = 4;
  o.nodes = pp / 2;
  o.tp = 1;
  o.pp = pp;
  o.layers = 16;
  o.steps = 3;
  o.micro_batches = micro_batches;
  o.virtual_stages = virtual_stages;
  return o;
}

struct SimulatedPipeline {
  JobReport::Pipeline found;
  double efficiency_bubble = 0;
  double true_bubble_share = 0;
  double true_work_ns = 0, true_total_ns = 0;
};

SimulatedPipeline simulated(SimulateOptions options) {
  const Folder folder("pipeline");
  options.directory = folder.path.string();
  REQUIRE(simulate_job(options).ok());
  const JobReport report = correlated(options.directory).report;
  std::ifstream file(options.directory + "/truth.json");
  const nlohmann::json truth = nlohmann::json::parse(file).at("pipeline");
  SimulatedPipeline out;
  out.found = report.pipeline;
  out.efficiency_bubble = report.efficiency.bubble;
  out.true_total_ns = truth.at("total_ns");
  out.true_work_ns = truth.at("work_ns");
  out.true_bubble_share = truth.at("bubble_ns").get<double>() / out.true_total_ns;
  return out;
}

std::string name_of(const SimulateOptions& o) {
  return "p " + std::to_string(o.pp) + ", m " + std::to_string(o.micro_batches) + ", v " +
         std::to_string(o.virtual_stages);
}

JobReport recorded(const std::string& set) {
  StageTimer timer;
  Result<JobReport> report = correlate({(kRecorded / set).string()}, {}, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

struct KnownPipeline {
  const char* set;
  int32_t micro_batches, virtual_stages;
  PipelineSchedule schedule;
};

}  // namespace

TEST_CASE("a simulated pipeline is recognised, its bubble is the simulator's and the schedule's is the formula's") {
  for (const int32_t pp : {2, 4, 8}) {
    for (const int32_t m : {1, 2, 4, 8, 16}) {
      for (const int32_t v : {1, 2}) {
        if (v > 1 && m % pp != 0) continue;
        const SimulateOptions options = pipeline_job(pp, m, v);
        INFO(name_of(options));
        const SimulatedPipeline job = simulated(options);
        const JobReport::Pipeline& found = job.found;
        CHECK(found.stages == pp);
        CHECK(found.micro_batches == m);
        CHECK(found.virtual_stages == v);
        CHECK(found.schedule == (v > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b));
        REQUIRE(found.by_stage.size() == static_cast<size_t>(pp));
        CHECK(found.by_stage.back().ranks == std::vector<int32_t>{2 * pp - 2, 2 * pp - 1});
        CHECK(std::abs(found.bubble_share - job.true_bubble_share) < kTwoPoints);
        const double formula = job.true_work_ns / job.true_total_ns * (pp - 1) / (static_cast<double>(m) * v);
        CHECK(std::abs(found.schedule_share - formula) < kTwoPoints);
        CHECK(found.schedule_share <= found.bubble_share);
        CHECK(found.imbalance_share < kTwoPoints);
        CHECK(job.efficiency_bubble == Approx(1 - found.schedule_share));
      }
    }
  }
}

TEST_CASE("what a longer stage adds to the bubble is the difference to the job with even stages") {
  for (const int32_t m : {1, 8}) {
    for (const int32_t stage : {0, 1, 3}) {
      SimulateOptions options = pipeline_job(4, m, 1);
      INFO(name_of(options) << ", stage " << stage);
      const SimulatedPipeline even = simulated(options);
      options.slow_ranks = {{2 * stage, 1.5}, {2 * stage + 1, 1.5}};
      const SimulatedPipeline uneven = simulated(options);
      // In time: the shares are of windows of different lengths.
      const double added =
          uneven.true_bubble_share - even.true_bubble_share * even.true_total_ns / uneven.true_total_ns;
      const double scheduled =
          uneven.found.schedule_share - even.found.schedule_share * even.true_total_ns / uneven.true_total_ns;
      CHECK(std::abs(uneven.found.bubble_share - uneven.true_bubble_share) < kTwoPoints);
      CHECK(std::abs(uneven.found.imbalance_share + scheduled - added) < kTwoPoints);
    }
  }
}

TEST_CASE("what twice the micro-batches would leave is what they leave") {
  for (const auto& [pp, m, v] : {std::tuple{2, 2, 1}, std::tuple{4, 1, 1}, std::tuple{4, 4, 1}, std::tuple{8, 4, 1},
                                 std::tuple{4, 4, 2}, std::tuple{8, 8, 2}}) {
    SimulateOptions options = pipeline_job(pp, m, v);
    options.layer_compute_ns = 2'000'000;
    INFO(name_of(options));
    const double predicted = simulated(options).found.with_twice_micro_batches_share;
    options.micro_batches *= 2;
    options.layer_compute_ns /= 2;
    CHECK(std::abs(predicted - simulated(options).true_bubble_share) < kThreePoints);
  }
}

TEST_CASE("a pipeline is the same with tensor parallelism in its stages and with lost kernels") {
  SimulateOptions options = pipeline_job(4, 4, 1);
  options.tp = 2;
  options.nodes = 4;
  options.steps = 6;
  options.lost_kernels = 0.002;
  const SimulatedPipeline job = simulated(options);
  CHECK(job.found.stages == 4);
  CHECK(job.found.micro_batches == 4);
  CHECK(std::abs(job.found.bubble_share - job.true_bubble_share) < kThreePoints);
}

TEST_CASE("without a stage's traces nothing is said of a pipeline") {
  SimulateOptions options = pipeline_job(4, 4, 1);
  options.missing_ranks = {2, 3};
  CHECK(simulated(options).found.stages == 0);
}

TEST_CASE("recorded pipelines are what their programs are") {
  for (const KnownPipeline& known :
       {KnownPipeline{"pipeline", 4, 1, PipelineSchedule::gpipe},
        KnownPipeline{"pipeline_batched", 4, 1, PipelineSchedule::gpipe},
        KnownPipeline{"pipeline_batched_gap", 4, 1, PipelineSchedule::gpipe},
        KnownPipeline{"pipeline_1f1b", 8, 1, PipelineSchedule::one_f_one_b},
        KnownPipeline{"pipeline_interleaved", 8, 2, PipelineSchedule::interleaved},
        KnownPipeline{"pipeline_interleaved_torch", 8, 2, PipelineSchedule::interleaved},
        KnownPipeline{"pipeline_interleaved_ticks", 8, 2, PipelineSchedule::interleaved}}) {
    INFO(known.set);
    const JobReport::Pipeline found = recorded(known.set).pipeline;
    CHECK(found.stages == 4);
    CHECK(found.micro_batches == known.micro_batches);
    CHECK(found.virtual_stages == known.virtual_stages);
    CHECK(found.schedule == known.schedule);
    REQUIRE(found.by_stage.size() == 4);
    for (int32_t k = 0; k < 4; ++k) CHECK(found.by_stage[static_cast<size_t>(k)].ranks == std::vector<int32_t>{k});
  }
}

TEST_CASE("rings, all-to-alls and collectives are no pipelines") {
  for (const char* set : {"ring_attention", "experts", "every_collective", "ddp", "fsdp2", "mesh", "tensor_parallel"}) {
    INFO(set);
    CHECK(recorded(set).pipeline.stages == 0);
  }
}
