// The phase of the step in which a call was launched, by what the host did then. See call_phases.cc.
#pragma once

#include <vector>

#include "skewscope/model/rank_trace.h"
#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

class CallPhases {
 public:
  // `steps`: by start; held on to.
  CallPhases(const FileContent& content, const std::vector<StepRange>& steps);

  // `call`: with its kind and when it was launched, by this thread.
  CallPhase of(const CollectiveCall& call, int64_t thread) const;

 private:
  struct Optimizer {
    int64_t thread = 0;
    LocalNs start, end;
  };

  bool optimizes(int64_t thread, LocalNs t) const;
  void add_optimizers(std::vector<OptimizerRow> rows);
  void find_backward_ends(const LaunchEvents& launches);

  const std::vector<StepRange>& steps_;
  std::vector<int64_t> step_threads_, backward_threads_;
  std::vector<Optimizer> optimizers_;   // by thread and start; none overlap
  std::vector<LocalNs> backward_ends_;  // row = row of steps_: when the backward pass launched last in it
  std::vector<bool> has_backward_;      // row = row of steps_
};

}  // namespace skewscope::ingest
