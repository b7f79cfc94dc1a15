// How much of a pipeline is bubble, by construction: in each step, from when the first of its ranks begins its first
// pass until the last ends its last, a rank that runs no pass stands still.
#pragma once

#include <cstdint>
#include <vector>

#include "job.h"
#include "timeline.h"

namespace skewscope::simulate {

class PipelineTruth {
 public:
  explicit PipelineTruth(const Job& job);
  void add_step(const StepTimeline& timeline);

  // Sums over ranks and steps.
  int64_t work_ns() const { return work_ns_; }      // of passes
  int64_t hop_ns() const { return hop_ns_; }        // with nothing to do but to receive what is under way
  int64_t bubble_ns() const { return bubble_ns_; }  // the rest
  int64_t total_ns() const;                         // from each pipeline's first GPU row to its last

 private:
  struct Window {
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  };
  int64_t hop_ns(int32_t rank, size_t row, int64_t idle_from, const StepTimeline& timeline) const;
  void add_rank(int32_t rank, const StepTimeline& timeline, int64_t span_ns);

  const Job& job_;
  std::vector<int32_t> first_instance_;       // by group
  std::vector<std::vector<int32_t>> chains_;  // ranks of each pipeline
  std::vector<Window> windows_;               // of each
  int64_t work_ns_ = 0, hop_ns_ = 0, bubble_ns_ = 0;
};

}  // namespace skewscope::simulate
