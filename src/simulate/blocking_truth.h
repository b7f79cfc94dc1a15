// What a rank's calls held up: by how much it is through earlier where its calls take no time.
//
// Not counted from rows but run: the same random job, in which every call ends as it starts, so that nobody waits for
// anybody. What then still takes its time (computing, launches that come late) held the rank up by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "efficiency.h"
#include "timeline.h"

namespace skewscope::simulate {

class BlockingTruth {
 public:
  explicit BlockingTruth(const Job& job);
  // `timeline`: ranks whose calls take no time.
  void add_step(const StepTimeline& timeline);
  // `real`: the rank as it ran.
  int64_t blocking_ns(int32_t rank, const EfficiencyTruth::RankTimes& real) const;

 private:
  struct Span {
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;  // of the GPU's rows
  };
  std::vector<Span> spans_;  // by rank
};

}  // namespace skewscope::simulate
