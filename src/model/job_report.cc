#include "skewscope/model/job_report.h"

#include <algorithm>

namespace skewscope {

const char* to_string(LossKind kind) {
  switch (kind) {
    case LossKind::straggler:
      return "straggler";
    case LossKind::stragglers_together:
      return "stragglers_together";
    case LossKind::late_in_turn:
      return "late_in_turn";
    case LossKind::long_stage:
      return "long_stage";
    case LossKind::pipeline_bubble:
      return "pipeline_bubble";
    case LossKind::slow_links:
      return "slow_links";
    case LossKind::waiting:
      return "waiting";
    case LossKind::exposed_transfer:
      return "exposed_transfer";
    case LossKind::launch_bound:
      return "launch_bound";
    case LossKind::exposed_copies:
      return "exposed_copies";
  }
  return "";
}

const char* to_string(GainBound bound) {
  switch (bound) {
    case GainBound::exact:
      return "exact";
    case GainBound::at_least:
      return "at_least";
    case GainBound::at_most:
      return "at_most";
  }
  return "";
}

std::vector<const JobReport::StepRow*> whole_steps(const JobReport& report) {
  int32_t most = 0;
  for (const JobReport::StepRow& step : report.steps) most = std::max(most, step.ranks);
  std::vector<const JobReport::StepRow*> steps;
  for (const JobReport::StepRow& step : report.steps) {
    if (step.ranks == most) steps.push_back(&step);
  }
  return steps;
}

}  // namespace skewscope
