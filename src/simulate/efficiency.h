// What the job's efficiency really was. See efficiency.cc.
#pragma once

#include <vector>

#include "timeline.h"

namespace skewscope::simulate {

class EfficiencyTruth {
 public:
  explicit EfficiencyTruth(const Job& job);
  void add_step(const StepTimeline& timeline);

  struct RankTimes {
    int64_t first_ns = -1, last_ns = 0;  // of the GPU's rows
    int64_t compute_ns = 0;
    int64_t active_ns = 0;  // computing, communicating or copying
  };
  const RankTimes& rank(int32_t rank) const { return ranks_[static_cast<size_t>(rank)]; }

  struct Ratios {
    double parallel = 1, load_balance = 1, communication = 1, serialization = 1, transfer = 1, gpu_communication = 1,
           orchestration = 1;
  };
  // `ideal`: of the same job on an ideal network.
  Ratios ratios(const EfficiencyTruth& ideal) const;

 private:
  double elapsed_ns() const;

  const Job& job_;
  std::vector<RankTimes> ranks_;
};

}  // namespace skewscope::simulate
