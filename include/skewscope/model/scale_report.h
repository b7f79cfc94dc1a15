// Data: one job at several sizes: the shape of scale.json (configs/scale.schema.json) as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/base/finding.h"
#include "skewscope/model/job_report.h"

namespace skewscope {

enum class Scaling : uint8_t {
  weak,    // more ranks do more: equal work per rank
  strong,  // more ranks do the same: equal work of the job
};
const char* to_string(Scaling scaling);

// An efficiency that the global one is a product of; communication where serialization and transfer are not determined.
enum class ScaleFactor : uint8_t {
  computation_scaling,
  load_balance,
  serialization,
  transfer,
  communication,
  gpu_communication,
  orchestration,
};
const char* to_string(ScaleFactor factor);

// pop: its factors sum to the change; gpu: its factors sum to serialization + transfer.
enum class FactorTree : uint8_t { pop, gpu };
const char* to_string(FactorTree tree);

// Who or what is responsible for a loss.
enum class LossCause : uint8_t {
  rank,
  communicator,
  kernel_operator,  // "operator"
  host,             // launches late, so that GPUs idle and others wait for them
  idle,             // GPUs idle, but not for a launch
  other,            // what is too little to name, last
};
const char* to_string(LossCause cause);

struct ScaleReport {
  Scaling scaling = Scaling::strong;
  bool scaling_given = false;  // by the user; else detected
  std::string evidence;        // what it was detected from

  // Efficiencies as in DEFINITIONS.md, section 7; -1: not determined.
  struct Run {
    std::string name;
    int32_t world_size = 0;
    int64_t steps = 0;          // that all ranks recorded; 0: none, the window is taken as one
    double step_ns = 0;         // mean length
    double step_error_ns = -1;  // standard error of that mean, by the steps' autocorrelation; -1: below two
    double speedup = 0;         // work per second against the smallest run: ideal is world_size / smallest world_size
    double speedup_error = -1;  // by the errors of both steps; -1: not known
    double throughput_per_gpu = 0;  // work per second and GPU against the smallest run: the scaling efficiency
    double steps_per_s_per_gpu = 0;
    double compute_ns = 0;     // per rank and step
    double message_bytes = 0;  // per rank and step: S of its collectives
    JobReport::Efficiency efficiency;
    double computation_scaling = -1;
    double global = -1;  // parallel x computation scaling
  };
  std::vector<Run> runs;  // smallest first

  // Who or what is responsible for a loss, largest first; the points of all causes of a loss sum to its own.
  struct Cause {
    LossCause kind = LossCause::other;
    std::vector<int32_t> ranks;  // kind rank; kind host: whose hosts; of a wait: whom it is for, where that is few
    std::string communicator;    // kind communicator: what communicators of this role are called
    std::vector<int32_t> communicators;  // ids in the larger run that differ clearly; all of that role where none does
    std::string op, dtype;               // kind communicator
    std::string name;                    // kind operator: of the kernel
    double before_ns = 0, after_ns = 0;  // per rank and step: of the slowest communicator, without waits that began
                                         // with hosts; of the ranks, above the mean; computation scaling: `before_ns`
                                         // is what ideal scaling leaves
    double points = 0;                   // of the loss, by what each grew as a share of the step
  };

  // What the global efficiency lost from one size to the next, in percentage points; negative: gained.
  struct Loss {
    int32_t from = 0, to = 0;  // rows of `runs`
    ScaleFactor factor = ScaleFactor::computation_scaling;
    FactorTree tree = FactorTree::pop;
    double before = 0, after = 0;  // the factor
    double points = 0;
    std::vector<Cause> causes;
  };
  std::vector<Loss> losses;

  // Step time at larger sizes.
  struct Projection {
    std::string model;    // a + b / P: Amdahl; a + b log2 P: equal work, collectives over trees
    std::string refusal;  // why there is none; "" where there is
    double a_ns = 0, b_ns = 0;
    double residual_ns = 0;  // standard deviation of the residuals
    struct Point {
      int32_t world_size = 0;
      double step_ns = 0, low_ns = 0, high_ns = 0;  // 95 % prediction interval
    };
    std::vector<Point> points;
  } projection;

  Findings diagnostics;  // sorted
};

}  // namespace skewscope
