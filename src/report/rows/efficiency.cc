// Problem: one number per kind of loss, so that runs compare and a loss has a name.
// Idea: the multiplicative model of POP (computing U of elapsed E) and its GPU form by TALP (U, and A = U + exposed
// communication + exposed copies). With P ranks, sums and maxima over ranks:
//   parallel = sum U / (P E) = load_balance * communication,   load_balance = sum U / (P max U),
//   communication = max U / E = gpu_communication * orchestration,   gpu_communication = max U / max A,
//   orchestration = max A / E.
//   communication = serialization * transfer,   transfer = length of the job on a network that takes no time / length,
// both replayed (src/blame); no network makes a job shorter than its longest computing rank, nor longer than it was.
//   bubble = 1 - the share that a pipeline's schedule makes of it (src/blame/pipeline/pipeline.cc): the part of
//   serialization that
// nobody but the schedule explains.
// E is the longest rank's timeline. Where ranks recorded different steps, their timelines differ in length by what the
// profiler was told, which is no loss: those steps alone count that all of them recorded, and what is replayed, which
// is the whole job, says nothing of them. Ranks without GPU rows are left out: nothing is known of what they computed.
// Source: POP centre of excellence, "Standard metrics for performance analysis"; TALP (DLB); arXiv 2603.26576.
#include "efficiency.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace skewscope::report {
namespace {

struct Timeline {
  double compute = 0, active = 0, total = 0;
};

std::vector<Timeline> whole_timelines(const JobReport& report) {
  std::vector<Timeline> timelines;
  for (const JobReport::RankRow& r : report.ranks) {
    if (r.total_ns <= 0) continue;
    const auto compute = static_cast<double>(r.compute_ns);
    timelines.push_back({compute, compute + static_cast<double>(r.exposed_communication_ns + r.exposed_memcpy_ns),
                         static_cast<double>(r.total_ns)});
  }
  return timelines;
}

std::vector<Timeline> timelines_in_common_steps(const JobReport& report) {
  std::set<int32_t> on_gpu;
  for (const JobReport::RankRow& r : report.ranks) {
    if (r.total_ns > 0) on_gpu.insert(r.rank);
  }
  std::set<std::pair<int32_t, int64_t>> common;
  for (const JobReport::StepRow& step : report.steps) {
    if (recorded_by_all(report, step)) common.emplace(step.session, step.step);
  }
  std::map<int32_t, Timeline> by_rank;
  for (const JobReport::RankStep& s : report.rank_steps) {
    if (!on_gpu.contains(s.rank) || !common.contains({s.session, s.step})) continue;
    Timeline& t = by_rank[s.rank];
    const auto compute = static_cast<double>(s.compute_ns);
    const int64_t exposed = s.exposed_transfer_ns + s.exposed_wait_ns + s.exposed_unattributed_ns + s.exposed_memcpy_ns;
    t.compute += compute;
    t.active += compute + static_cast<double>(exposed);
    t.total += compute + static_cast<double>(exposed + s.idle_ns);
  }
  std::vector<Timeline> timelines;
  for (const auto& [rank, timeline] : by_rank) timelines.push_back(timeline);
  return timelines;
}

std::vector<Timeline> timelines_of(const JobReport& report) {
  return windows_differ(report) ? timelines_in_common_steps(report) : whole_timelines(report);
}

}  // namespace

bool recorded_by_all(const JobReport& report, const JobReport::StepRow& step) {
  const size_t ranks = report.islands.empty() ? report.ranks.size() : report.islands.front().ranks.size();
  return static_cast<size_t>(step.ranks) == ranks;
}

bool windows_differ(const JobReport& report) {
  const auto common = std::count_if(report.steps.begin(), report.steps.end(),
                                    [&](const auto& step) { return recorded_by_all(report, step); });
  return common > 0 && common < std::ssize(report.steps);
}

int64_t elapsed_ns(const JobReport& report) {
  double elapsed = 0;
  for (const Timeline& t : timelines_of(report)) elapsed = std::max(elapsed, t.total);
  return std::llround(elapsed);
}

JobReport::Efficiency efficiency_of(const JobReport& report) {
  double sum_compute = 0, max_compute = 0, max_active = 0, elapsed = 0, count = 0;
  for (const Timeline& t : timelines_of(report)) {
    count += 1;
    sum_compute += t.compute;
    max_compute = std::max(max_compute, t.compute);
    max_active = std::max(max_active, t.active);
    elapsed = std::max(elapsed, t.total);
  }
  JobReport::Efficiency e;
  if (elapsed <= 0) return e;
  e.parallel = sum_compute / (count * elapsed);
  e.communication = max_compute / elapsed;
  e.orchestration = max_active / elapsed;
  if (max_compute > 0) e.load_balance = sum_compute / (count * max_compute);
  const JobReport::WhatIf& what_if = report.what_if;
  if (!windows_differ(report) && what_if.replayed_ns > 0 && what_if.no_transfer_ns > 0) {
    const double transfer = static_cast<double>(what_if.no_transfer_ns) / static_cast<double>(what_if.replayed_ns);
    e.transfer = std::clamp(transfer, e.communication, 1.0);
    e.serialization = e.communication / e.transfer;
  }
  if (report.pipeline.schedule_share >= 0) e.bubble = 1 - report.pipeline.schedule_share;
  if (max_active > 0) e.gpu_communication = max_compute / max_active;
  return e;
}

}  // namespace skewscope::report
