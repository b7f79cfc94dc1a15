#include "islands.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "efficiency_rows.h"
#include "figures.h"
#include "losses.h"
#include "operation_rows.h"
#include "own_findings.h"
#include "pipeline_rows.h"
#include "skewscope/base/human_units.h"
#include "skewscope/model/clock_components.h"
#include "step_rows.h"
#include "what_if_rows.h"

namespace skewscope::report {
namespace {

constexpr size_t kMostSizes = 4;  // of components, named one by one

bool is_of(const JobReport::Island& island, int32_t rank) {
  return std::binary_search(island.ranks.begin(), island.ranks.end(), rank);
}

// Whether at least half of the ranks are compared with others: else nothing reported of some of them represents the
// job.
bool told_by_islands(const JobReport& report) {
  size_t compared = 0;
  for (const JobReport::Island& island : report.islands) compared += island.ranks.size();
  return compared > 0 && 2 * compared >= report.ranks.size();
}

double largest_weight(const JobReport::Island& island) {
  return island.losses.empty() ? 0 : island.losses.front().weight();
}

}  // namespace

std::vector<JobReport::Island> island_rows(const Sources& sources, const JobReport& report) {
  std::vector<JobReport::Island> rows;
  const std::vector<ClockIsland> islands = islands_of(sources.job, sources.clocks);
  for (size_t i = 0; islands.size() > 1 && i < islands.size(); ++i) {
    std::set<int32_t> ranks;
    for (const TraceIndex trace : islands[i].traces) ranks.insert(sources.job[trace].rank.value);
    if (ranks.size() < 2) continue;
    JobReport::Island& row = rows.emplace_back();
    row.ranks.assign(ranks.begin(), ranks.end());
    row.window_ns = islands[i].window_ns;
    while (!is_of(row, report.components[static_cast<size_t>(row.component)].ranks.front())) ++row.component;
    if (!sources.decomposition.island_steps.empty()) {
      row.steps = step_rows_of(sources, islands[i].traces, sources.decomposition.island_steps[i]);
    }
    std::set<int64_t> steps;
    for (JobReport::StepRow& step : row.steps) {
      step.component = row.component;
      steps.insert(step.step);
    }
    if (!sources.blame.islands.empty()) {
      const IslandBlame& blame = sources.blame.islands[i];
      row.what_if = what_if_rows(sources, blame, std::ssize(steps));
      row.pipeline = pipeline_of(blame.pipeline);
    }
    row.efficiency = efficiency_of(report_of(report, row));
  }
  return rows;
}

JobReport report_of(const JobReport& report, const JobReport::Island& island) {
  JobReport out = rows_of_ranks(report, island.ranks);
  out.job.window_ns = island.window_ns;
  std::set<int64_t> steps;
  for (const JobReport::StepRow& step : island.steps) steps.insert(step.step);
  out.job.steps.assign(steps.begin(), steps.end());
  out.steps = island.steps;
  out.what_if = island.what_if;
  out.pipeline = island.pipeline;
  out.efficiency = island.efficiency;
  out.losses = island.losses;
  return out;
}

const JobReport::Island* island_of(const JobReport& report, int32_t rank) {
  const auto own = std::find_if(report.islands.begin(), report.islands.end(),
                                [&](const JobReport::Island& island) { return is_of(island, rank); });
  return own == report.islands.end() ? nullptr : &*own;
}

const JobReport::Island* leading_island(const JobReport& report) {
  if (!told_by_islands(report)) return nullptr;
  const auto most = std::max_element(report.islands.begin(), report.islands.end(), [](const auto& a, const auto& b) {
    return largest_weight(a) < largest_weight(b);
  });
  return &*most;
}

std::vector<JobReport::Loss> losses_of_islands(JobReport& report) {
  for (JobReport::Island& island : report.islands) {
    const JobReport own = report_of(report, island);
    island.losses = losses_of(own, figures_of(own));
    for (JobReport::Loss& loss : island.losses) loss.component = island.component;
  }
  if (!told_by_islands(report)) return losses_of(report, figures_of(report));
  std::vector<JobReport::Loss> losses;
  for (const JobReport::Island& island : report.islands) {
    losses.insert(losses.end(), island.losses.begin(), island.losses.end());
  }
  std::stable_sort(losses.begin(), losses.end(), [](const auto& a, const auto& b) { return a.weight() > b.weight(); });
  return losses;
}

size_t component_count(const JobReport& report) {
  size_t count = report.islands.size(), compared = 0;
  for (const JobReport::Island& island : report.islands) compared += island.ranks.size();
  if (count > 0) count += report.ranks.size() - compared;
  return std::max(count, most_components(report));
}

std::string component_words(const JobReport& report) {
  const size_t count = component_count(report);
  if (count < 2) return "";
  std::vector<size_t> sizes;
  for (const JobReport::Island& island : report.islands) sizes.push_back(island.ranks.size());
  std::sort(sizes.rbegin(), sizes.rend());
  sizes.resize(std::max(sizes.size(), count), 1);
  std::string words;
  if (count > kMostSizes && sizes.front() == sizes.back()) {
    words = fmt::format("{} rank{} each", sizes.front(), sizes.front() == 1 ? "" : "s");
  } else {
    for (size_t k = 0; k < std::min(count, kMostSizes); ++k)
      words += fmt::format("{}{}", k == 0 ? "" : " + ", sizes[k]);
    words += count > kMostSizes ? " and more ranks" : " ranks";
  }
  return fmt::format("{} components ({}), not compared", count, words);
}

}  // namespace skewscope::report
