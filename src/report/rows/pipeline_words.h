// What a pipeline's bubble costs, in words.
#pragma once

#include <optional>
#include <string>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

struct PipelineWords {
  std::string
      sentence;      // "64 % of GPU time is pipeline bubble (4 stages, 1 micro-batch a step): 63 % is the schedule's."
  std::string next;  // what to do about it, and what it would give; "": nothing is known to help
  double share = 0;  // of GPU time that is bubble
  double explained = 0;  // of GPU time: what of it the schedule and uneven stages make
  bool balance = false;  // `next` is to balance the stages
  int64_t gain_ns = 0;   // by which the job would be shorter if `next` were done
};

// "4 stages, 8 micro-batches, 1F1B": what was recognised; "" without a pipeline.
std::string pipeline_shape_words(const JobReport::Pipeline& pipeline);

// nullopt: no pipeline, or its bubble is not known.
std::optional<PipelineWords> pipeline_words(const JobReport& report);

}  // namespace skewscope::report
