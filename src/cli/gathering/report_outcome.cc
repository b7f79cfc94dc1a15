#include "report_outcome.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "skewscope/report.h"

namespace skewscope::cli {
namespace {

// Others waited because the rank had more or other work, or waited itself: its node is not to blame.
bool is_of_the_work(LateCause cause) {
  switch (cause) {
    case LateCause::other_kernels:
    case LateCause::other_shapes:
    case LateCause::wait_elsewhere:
    case LateCause::program:
      return true;
    default:
      return false;
  }
}

const JobReport::RankRow* row_of(const JobReport& report, int32_t rank) {
  const auto row = std::find_if(report.ranks.begin(), report.ranks.end(),
                                [&](const JobReport::RankRow& one) { return one.rank == rank; });
  return row == report.ranks.end() ? nullptr : &*row;
}

void add_late_ranks(const JobReport& report, ReportOutcome& outcome) {
  int64_t all_ns = 0;
  for (const JobReport::Straggler& rank : report.stragglers) all_ns += rank.wait_originated_ns;
  for (const JobReport::Straggler& late : report.stragglers) {
    const JobReport::RankRow* const row = row_of(report, late.rank);
    const bool blamed = late.standing == Standing::cause && !(late.cause && is_of_the_work(*late.cause));
    if (!blamed || row == nullptr || all_ns <= 0) continue;
    ReportOutcome::Cause cause;
    cause.host = row->host;
    cause.rank = late.rank;
    cause.device = row->device;
    cause.share = static_cast<double>(late.wait_originated_ns) / static_cast<double>(all_ns);
    cause.why = late.cause ? to_string(*late.cause) : "";
    outcome.causes.push_back(std::move(cause));
  }
}

void add_slow_links(const JobReport& report, ReportOutcome& outcome) {
  std::set<std::string> hosts;
  for (const JobReport::Loss& loss : report.losses) {
    if (loss.kind != LossKind::slow_links) continue;
    for (const int32_t rank : loss.ranks) {
      const JobReport::RankRow* const row = row_of(report, rank);
      if (row == nullptr || row->host.empty() || !hosts.insert(row->host).second) continue;
      outcome.causes.push_back({ReportOutcome::Part::link, row->host, -1, -1, loss.gain_share, to_string(loss.kind)});
    }
  }
}

void add_groups(const JobReport& report, int64_t total_ns, ReportOutcome& outcome) {
  std::map<std::string, int64_t> exposed_ns;
  for (const JobReport::OverlapRow& row : report.overlap) {
    if (!row.group.empty()) exposed_ns[row.group] += row.exposed_ns();
  }
  for (const auto& [name, ns] : exposed_ns) {
    outcome.groups.push_back({name, static_cast<double>(ns) / static_cast<double>(total_ns)});
  }
  std::stable_sort(outcome.groups.begin(), outcome.groups.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
}

std::string most_common_gpu(const JobReport& report) {
  std::map<std::string, int> counts;
  for (const JobReport::RankRow& row : report.ranks) ++counts[row.device_name];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "" : most->first;
}

}  // namespace

ReportOutcome outcome_of(const JobReport& report) {
  ReportOutcome outcome;
  outcome.recorded_ns = std::max<int64_t>(report.job.window_start_ns, 0);
  outcome.ranks = static_cast<int32_t>(report.job.ranks_present.size());
  outcome.steps = static_cast<int32_t>(report.job.steps.size());
  outcome.step_ns = mean_step_ns(report);
  outcome.efficiency = report.efficiency.parallel;
  int64_t waiting_ns = 0, total_ns = 0;
  for (const JobReport::RankRow& row : report.ranks) {
    waiting_ns += row.exposed_wait_ns;
    total_ns += row.total_ns;
  }
  if (total_ns > 0) {
    outcome.waiting = static_cast<double>(waiting_ns) / static_cast<double>(total_ns);
    add_groups(report, total_ns, outcome);
  }
  outcome.software = report.job.software;
  if (!report.losses.empty()) {
    outcome.gain = report.losses.front().gain_share;
    outcome.loss = to_string(report.losses.front().kind);
  }
  outcome.gpu = most_common_gpu(report);
  outcome.hosts = report.job.hosts;
  add_late_ranks(report, outcome);
  add_slow_links(report, outcome);
  return outcome;
}

void write_outcome(const std::string& folder, const JobReport& report) {
  std::ofstream(folder + "/outcome.json", std::ios::binary) << to_json(outcome_of(report));
}

}  // namespace skewscope::cli
