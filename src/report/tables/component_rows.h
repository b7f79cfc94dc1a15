// Components of ranks, each with what is said of it alone: tables/components.csv, tables/component_steps.csv.
#pragma once

#include <string>
#include <vector>

#include "skewscope/model/job_report.h"
#include "src/report/fields/field.h"

namespace skewscope::report {

struct ComponentRow {
  int32_t component = 0, session = 0;
  std::vector<int32_t> ranks;
  int64_t window_ns = 0;
  // What its ranks did over all sessions; -1 or "": it is one rank, or not determined.
  int64_t steps = -1, step_ns = -1, wait_ns = -1, transfer_ns = -1, exposed_wait_ns = -1, exposed_transfer_ns = -1;
  double parallel = -1;
  int64_t replayed_ns = -1, balanced_ns = -1, no_transfer_ns = -1;
  std::string why, next;
};
struct ComponentTableFields {
  using Row = ComponentRow;
  static constexpr About kAbout = {"", "components", "ranks on one clock, and what is reported of them alone"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::component>("component", "row of components in report.json"),
      field<&Row::session>("session", "capture of the job"),
      field<&Row::ranks>("ranks", "ranks whose clocks can be compared"),
      field<&Row::window_ns>("window_ns", "from their first event to their last"),
      known<&Row::steps>("steps", "steps that any of them recorded"),
      known<&Row::step_ns>("step_ns", "mean length of the steps that most of them recorded"),
      known<&Row::wait_ns>("wait_ns", "in collectives, for others of them"),
      known<&Row::transfer_ns>("transfer_ns", "in collectives, moving bytes"),
      known<&Row::exposed_wait_ns>("exposed_wait_ns", "what of the waiting no computing hides"),
      known<&Row::exposed_transfer_ns>("exposed_transfer_ns", "what of the transfer no computing hides"),
      known<&Row::parallel>("parallel", "parallel efficiency"),
      known<&Row::replayed_ns>("replayed_ns", "length, replayed"),
      known<&Row::balanced_ns>("balanced_ns", "length with every rank as fast as its peers"),
      known<&Row::no_transfer_ns>("no_transfer_ns", "length on a network that takes no time"),
      field<&Row::why>("why", "the largest loss"), field<&Row::next>("next", "what to do first"));
};

std::vector<ComponentRow> component_rows(const JobReport& report);

// None where all ranks are compared: then the steps of the job are theirs.
std::vector<JobReport::StepRow> component_steps(const JobReport& report);

}  // namespace skewscope::report
