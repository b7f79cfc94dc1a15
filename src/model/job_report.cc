#include "skewscope/model/job_report.h"

#include <algorithm>
#include <iterator>
#include <set>

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

const char* to_string(Standing standing) {
  switch (standing) {
    case Standing::suspect:
      return "suspect";
    case Standing::cause:
      return "cause";
  }
  return "";
}

const char* to_string(LatePattern pattern) {
  switch (pattern) {
    case LatePattern::recurring:
      return "recurring";
    case LatePattern::rotating:
      return "rotating";
    case LatePattern::one_off:
      return "one-off";
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

namespace {

template <class Row, class Wanted>
std::vector<Row> rows_if(const std::vector<Row>& rows, const Wanted& wanted) {
  std::vector<Row> out;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(out), wanted);
  return out;
}

}  // namespace

JobReport rows_of_ranks(const JobReport& report, const std::vector<int32_t>& ranks) {
  const auto is_of = [&](int32_t rank) { return std::binary_search(ranks.begin(), ranks.end(), rank); };
  const auto of_rank = [&](const auto& row) { return is_of(row.rank); };
  JobReport out;
  out.job = report.job;
  out.job.ranks_present = ranks;
  out.clocks = rows_if(report.clocks, of_rank);
  out.components = rows_if(report.components, [&](const auto& row) { return is_of(row.ranks.front()); });
  out.communicators = rows_if(report.communicators, [&](const auto& group) {
    return std::all_of(group.ranks.begin(), group.ranks.end(), is_of);
  });
  std::set<int32_t> groups;
  for (const JobReport::CommunicatorRow& group : out.communicators) groups.insert(group.id);
  const auto of_group = [&](const auto& row) { return groups.contains(row.communicator); };
  out.collectives = rows_if(report.collectives, of_group);
  out.collective_steps = rows_if(report.collective_steps, of_group);
  out.all_to_all = rows_if(report.all_to_all, of_group);
  out.ranks = rows_if(report.ranks, of_rank);
  out.rank_steps = rows_if(report.rank_steps, of_rank);
  out.outside_steps = rows_if(report.outside_steps, of_rank);
  out.stragglers = rows_if(report.stragglers, of_rank);
  out.causes = rows_if(report.causes, of_rank);
  out.flows = rows_if(report.flows, of_rank);
  out.rank_statistics = rows_if(report.rank_statistics, [&](const auto& row) {
    const auto component = static_cast<size_t>(row.component);
    return component >= report.components.size() || is_of(report.components[component].ranks.front());
  });
  out.matching = report.matching;
  out.diagnostics = report.diagnostics;
  std::set<std::string> hosts;
  for (const JobReport::RankRow& row : out.ranks) {
    if (!row.host.empty()) hosts.insert(row.host);
  }
  out.job.hosts.assign(hosts.begin(), hosts.end());
  return out;
}

const JobReport::Component* longest_component(const JobReport& report) {
  const JobReport::Component* longest = nullptr;
  for (const JobReport::Component& component : report.components) {
    if (component.ranks.size() >= report.job.ranks_present.size()) return nullptr;
    const bool longer = longest == nullptr || component.window_ns > longest->window_ns;
    if (component.ranks.size() > 1 && longer) longest = &component;
  }
  return longest;
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
