#include "run_figures.h"

#include <algorithm>

namespace skewscope::scale {

double steps_in(const JobReport& report) { return std::max<double>(1, static_cast<double>(report.steps.size())); }

OwnSteps::OwnSteps(const JobReport& report) : otherwise_(steps_in(report)) {
  for (const JobReport::RankStep& step : report.rank_steps) by_rank_[step.rank] += 1;
}

double OwnSteps::of(int32_t rank) const {
  const auto own = by_rank_.find(rank);
  return own == by_rank_.end() ? otherwise_ : own->second;
}

double OwnSteps::mean() const {
  if (by_rank_.empty()) return otherwise_;
  double sum = 0;
  for (const auto& [rank, steps] : by_rank_) sum += steps;
  return sum / static_cast<double>(by_rank_.size());
}

std::string role_of(const JobReport::CommunicatorRow& c) {
  if (!c.desc.empty() && c.desc != "undefined") return c.desc;
  return "group of " + std::to_string(c.size);
}

std::map<int32_t, const JobReport::CommunicatorRow*> communicators_by_id(const JobReport& report) {
  std::map<int32_t, const JobReport::CommunicatorRow*> by_id;
  for (const JobReport::CommunicatorRow& c : report.communicators) by_id[c.id] = &c;
  return by_id;
}

ScaleReport::Run run_of(const NamedReport& named) {
  const JobReport& report = named.report;
  ScaleReport::Run run;
  run.name = named.name;
  run.world_size = report.job.world_size;
  run.efficiency = report.efficiency;
  std::vector<double> lengths;
  for (const JobReport::StepRow* step : whole_steps(report)) lengths.push_back(static_cast<double>(step->duration_ns));
  const Sample steps = sample_of(lengths);
  run.steps = steps.count;
  run.step_ns = steps.count > 0 ? steps.mean : static_cast<double>(report.job.window_ns);
  run.step_error_ns = steps.error();
  if (run.step_ns > 0) run.steps_per_s_per_gpu = 1e9 / run.step_ns / std::max(1, run.world_size);
  double ranks = 0, compute = 0;
  std::map<int32_t, int64_t> computed_in_steps;  // of what is in no step, a step has nothing
  for (const JobReport::RankStep& step : report.rank_steps) computed_in_steps[step.rank] += step.compute_ns;
  const OwnSteps steps_of(report);
  for (const JobReport::RankRow& rank : report.ranks) {
    if (rank.total_ns <= 0) continue;
    ++ranks;
    const auto in_steps = computed_in_steps.find(rank.rank);
    const int64_t computed_ns = in_steps == computed_in_steps.end() ? rank.compute_ns : in_steps->second;
    compute += static_cast<double>(computed_ns) / steps_of.of(rank.rank);
  }
  if (ranks > 0) run.compute_ns = compute / ranks;
  const auto communicators = communicators_by_id(report);
  double bytes = 0;
  for (const JobReport::CollectiveRow& row : report.collectives) {
    const auto c = communicators.find(row.communicator);
    // A message is between two ranks at least.
    const double members = c == communicators.end() ? 0 : carries_messages(row.op) ? 2 : c->second->size;
    bytes += static_cast<double>(row.bytes) * static_cast<double>(row.count) * members;
  }
  run.message_bytes = bytes / std::max(1, run.world_size) / steps_in(report);
  return run;
}

}  // namespace skewscope::scale
