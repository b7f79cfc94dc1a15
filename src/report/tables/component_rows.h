// Components of ranks, each with what is said of it alone: tables/components.csv, tables/component_steps.csv.
#pragma once

#include <string>
#include <vector>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

struct ComponentRow {
  int32_t component = 0, session = 0;
  std::vector<int32_t> ranks;
  int64_t window_ns = 0;
  // Of its ranks over all sessions; -1 or "": it is one rank, or not determined.
  int64_t steps = -1, step_ns = -1, wait_ns = -1, transfer_ns = -1, exposed_wait_ns = -1, exposed_transfer_ns = -1;
  double parallel = -1;
  int64_t replayed_ns = -1, balanced_ns = -1, no_transfer_ns = -1;
  std::string why, next;
};
std::vector<ComponentRow> component_rows(const JobReport& report);

// None where all ranks are compared: then the steps of the job are theirs.
std::vector<JobReport::StepRow> component_steps(const JobReport& report);

}  // namespace skewscope::report
