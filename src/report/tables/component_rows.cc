#include "component_rows.h"

#include "src/report/rows/figures.h"
#include "src/report/rows/islands.h"
#include "src/report/rows/step_rows.h"
#include "src/report/words/verdict.h"

namespace skewscope::report {
namespace {

void tell(const JobReport& told, ComponentRow& row) {
  const Figures f = figures_of(told);
  const Verdict verdict = verdict_of(told, f);
  row.steps = std::ssize(told.job.steps);
  if (const int64_t step_ns = mean_step_ns(told); step_ns > 0) row.step_ns = step_ns;
  row.wait_ns = f.wait_ns;
  row.transfer_ns = f.transfer_ns;
  row.exposed_wait_ns = f.exposed_wait_ns;
  row.exposed_transfer_ns = f.exposed_transfer_ns;
  row.parallel = told.efficiency.parallel;
  row.replayed_ns = told.what_if.replayed_ns;
  row.balanced_ns = told.what_if.balanced_ns;
  row.no_transfer_ns = told.what_if.no_transfer_ns;
  row.why = verdict.why;
  row.next = verdict.next;
}

}  // namespace

std::vector<ComponentRow> component_rows(const JobReport& report) {
  std::vector<ComponentRow> rows;
  for (const JobReport::Component& component : report.components) {
    ComponentRow& row = rows.emplace_back();
    row.component = static_cast<int32_t>(rows.size() - 1);
    row.session = component.session;
    row.ranks = component.ranks;
    row.window_ns = component.window_ns;
    if (const JobReport::Island* own = island_of(report, component.ranks.front()); own != nullptr) {
      tell(report_of(report, *own), row);
    } else if (report.islands.empty() && component.ranks.size() > 1) {
      tell(report, row);
    }
  }
  return rows;
}

std::vector<JobReport::StepRow> component_steps(const JobReport& report) {
  std::vector<JobReport::StepRow> rows;
  for (const JobReport::Island& island : report.islands) {
    rows.insert(rows.end(), island.steps.begin(), island.steps.end());
  }
  return rows;
}

}  // namespace skewscope::report
