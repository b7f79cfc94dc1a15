// truth.json: what really happened, next to the traces. Its layout is described in README.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "blocking_truth.h"
#include "efficiency.h"
#include "event_text.h"
#include "job.h"
#include "pipeline_truth.h"
#include "rank_output.h"
#include "timeline.h"
#include "trace_sink.h"

namespace skewscope::simulate {

class TruthWriter {
 public:
  TruthWriter(const Job& job, const std::string& directory);
  // Each false when the file cannot be written.
  bool write_step(int32_t step, const StepTimeline& timeline);
  // The same step of the job on an ideal network.
  void add_ideal_step(const StepTimeline& timeline) { ideal_.add_step(timeline); }
  // The same step of ranks whose calls take no time.
  void add_instant_step(const StepTimeline& timeline) { instant_.add_step(timeline); }
  bool finish(const std::vector<std::unique_ptr<RankOutput>>& outputs);

 private:
  void print_instance(int32_t step, const Instance& instance, const StepTimeline& timeline);
  bool flush();

  const Job& job_;
  EfficiencyTruth real_, ideal_;
  BlockingTruth instant_;
  PipelineTruth pipeline_;
  TraceSink sink_;
  Text text_;
  bool first_ = true;
};

}  // namespace skewscope::simulate
