#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <map>
#include <set>

#include "all_to_all_rows.h"
#include "call_rows.h"
#include "collective_rows.h"
#include "efficiency_rows.h"
#include "islands.h"
#include "overlap_rows.h"
#include "own_findings.h"
#include "pipeline_rows.h"
#include "rank_rows.h"
#include "rank_statistics.h"
#include "skewscope/model/clock_components.h"
#include "sources.h"
#include "step_rows.h"
#include "stragglers.h"
#include "what_if_rows.h"

namespace skewscope {
namespace report {
namespace {

JobReport::Job job_of(const Sources& sources) {
  JobReport::Job job;
  std::set<int32_t> present;
  std::set<std::string> hosts, software;
  std::set<int64_t> steps;
  for (const RankTrace& trace : sources.job.traces) {
    present.insert(trace.rank.value);
    if (!trace.host.empty()) hosts.insert(trace.host);
    software.insert(trace.software.begin(), trace.software.end());
    for (const StepRange& step : trace.steps) steps.insert(step.number);
  }
  for (int32_t rank = 0; rank < sources.job.world_size; ++rank) {
    if (!present.contains(rank)) job.ranks_missing.push_back(rank);
  }
  job.name = sources.job.name;
  job.world_size = sources.job.world_size;
  job.ranks_present.assign(present.begin(), present.end());
  job.hosts.assign(hosts.begin(), hosts.end());
  job.software.assign(software.begin(), software.end());
  job.steps.assign(steps.begin(), steps.end());
  job.window_start_ns = sources.clocks.reference_ns;
  job.window_ns = sources.clocks.window_ns;
  job.vendor = sources.job.vendor;
  job.sessions = sources.job.sessions;
  job.step_basis = sources.decomposition.step_basis;
  return job;
}

// Ranks that other components have are not joined to the reference, however well they are joined to one another.
std::vector<JobReport::Clock> clock_rows(const Sources& sources, const std::vector<ClockComponent>& components) {
  std::vector<int32_t> component(sources.job.traces.size());
  std::vector<bool> largest(sources.job.traces.size());
  for (size_t c = 0; c < components.size(); ++c) {
    for (const TraceIndex trace : components[c].traces) {
      component[trace.index()] = static_cast<int32_t>(c);
      largest[trace.index()] = c == 0 || components[c - 1].session != components[c].session;
    }
  }
  std::vector<JobReport::Clock> rows;
  for (size_t t = 0; t < sources.job.traces.size(); ++t) {
    const RankTrace& trace = sources.job.traces[t];
    const TraceClock& clock = sources.clocks.clocks[t];
    JobReport::Clock row;
    row.rank = trace.rank.value;
    row.session = trace.session.value;
    row.domain = trace.host.empty() ? "rank " + std::to_string(row.rank) : trace.host;
    row.offset_ns = clock.offset_ns;
    row.drift_ppb = clock.drift_ppb;
    row.uncertainty_ns = largest[t] ? clock.uncertainty_ns : -1;
    row.method = clock.method;
    row.aligned = clock.aligned && largest[t];
    row.component = component[t];
    row.bend_ns = clock.bend.largest_ns();
    row.proven_ns = largest[t] ? clock.proven_ns() : -1;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<JobReport::Component> components_of_clocks(const Sources& sources,
                                                       const std::vector<ClockComponent>& components) {
  std::vector<JobReport::Component> rows;
  for (const ClockComponent& component : components) {
    JobReport::Component& row = rows.emplace_back();
    row.session = component.session.value;
    row.window_ns = component.window_ns;
    for (const TraceIndex trace : component.traces) row.ranks.push_back(sources.job[trace].rank.value);
    std::sort(row.ranks.begin(), row.ranks.end());
  }
  return rows;
}

std::vector<JobReport::CommunicatorRow> communicator_rows(const Sources& sources) {
  std::map<int32_t, std::string> host_of_rank;
  for (const RankTrace& trace : sources.job.traces) {
    if (!trace.host.empty()) host_of_rank.emplace(trace.rank.value, trace.host);
  }
  std::vector<JobReport::CommunicatorRow> rows;
  for (const Communicator& communicator : sources.instances.communicators.communicators) {
    JobReport::CommunicatorRow row;
    row.id = static_cast<int32_t>(rows.size());
    row.name = communicator.name;
    row.desc = communicator.description;
    row.size = communicator.size;
    std::set<std::string> hosts;
    for (const Rank rank : communicator.members) {
      row.ranks.push_back(rank.value);
      if (const auto host = host_of_rank.find(rank.value); host != host_of_rank.end()) hosts.insert(host->second);
    }
    row.nodes = hosts.empty() ? -1 : static_cast<int32_t>(hosts.size());
    rows.push_back(std::move(row));
  }
  for (const CollectiveInstance& instance : sources.instances.instances) {
    if (instance.communicator.known()) rows[instance.communicator.index()].collectives++;
  }
  return rows;
}

// Gives each late rank the first component that it is in.
void set_components(JobReport& report) {
  for (JobReport::Straggler& s : report.stragglers) {
    const auto own = std::find_if(report.components.begin(), report.components.end(), [&](const auto& component) {
      return std::binary_search(component.ranks.begin(), component.ranks.end(), s.rank);
    });
    s.component = static_cast<int32_t>(own - report.components.begin());
  }
}

JobReport::Matching matching_of(const Sources& sources) {
  JobReport::Matching m;
  m.matched = static_cast<int64_t>(sources.instances.members.size());
  const std::vector<UnmatchedCall>& unmatched = sources.instances.unmatched;
  m.unmatched = std::count_if(unmatched.begin(), unmatched.end(),
                              [](const UnmatchedCall& call) { return lacks_members(call.reason); });
  m.calls = m.matched + m.unmatched;
  std::map<MatchMethod, int64_t> methods;
  for (const CollectiveInstance& instance : sources.instances.instances) {
    m.incomplete_instances += instance.complete ? 0 : 1;
    m.mismatched_instances += instance.sizes_differ ? 1 : 0;
    methods[instance.method]++;
  }
  int64_t most = 0;
  for (const auto& [method, count] : methods) {
    if (count > most) m.method = to_string(method);
    most = std::max(most, count);
  }
  m.incomplete_instances += single_members(sources).calls;
  std::map<UnmatchedReason, int64_t> reasons;
  for (const UnmatchedCall& call : unmatched) reasons[call.reason] += lacks_members(call.reason) ? 1 : 0;
  for (const auto& [reason, calls] : reasons) {
    if (calls > 0) m.unmatched_by_reason.push_back({reason, calls});
  }
  return m;
}

}  // namespace
}  // namespace report

JobReport build_report(const JobTrace& job, const InstanceTable& instances, const ClockModel& clocks,
                       const Decomposition& decomposition, const Blame& blame,
                       const std::vector<RankSummary>& summaries, const std::vector<RankFigures>& figures) {
  const report::Sources sources{job, instances, clocks, decomposition, blame, summaries};
  JobReport out;
  out.job = report::job_of(sources);
  const std::vector<ClockComponent> components = components_of(job, clocks);
  out.clocks = report::clock_rows(sources, components);
  out.components = report::components_of_clocks(sources, components);
  out.jobs_found = job.jobs_found;
  out.communicators = report::communicator_rows(sources);
  out.ranks = report::rank_rows(sources);
  out.steps = report::step_rows(sources);
  out.rank_steps = report::rank_steps(sources);
  out.outside_steps = report::outside_steps(sources);
  // Each of these goes over all calls.
  tbb::parallel_invoke(
      [&] { out.collectives = report::collective_rows(sources); },
      [&] { out.transports = report::transport_rows(sources); }, [&] { out.trend = report::trend_rows(sources); },
      [&] { out.collective_steps = report::collective_steps(sources); },
      [&] { out.stragglers = report::stragglers_of(sources); }, [&] { out.calls = report::call_rows(sources); });
  out.overlap = report::overlap_rows(decomposition);
  out.overlap_modules = report::overlap_module_rows(decomposition, job.modules);
  out.all_to_all = report::all_to_all_rows(sources);
  out.causes = report::cause_rows(sources);
  out.flows = report::flow_rows(sources);
  report::set_components(out);
  out.islands = report::island_rows(sources, out);
  if (out.islands.empty()) {
    out.what_if = report::what_if_rows(sources, blame, std::ssize(out.job.steps));
    out.pipeline = report::pipeline_of(blame.pipeline);
    out.efficiency = report::efficiency_of(out);
  } else {
    out.what_if = out.islands.front().what_if;
    out.pipeline = out.islands.front().pipeline;
    out.efficiency = out.islands.front().efficiency;
  }
  out.matching = report::matching_of(sources);
  report::add_unmatched_rows(sources, out);
  out.rank_statistics = report::rank_statistics(job, figures, out.components);
  out.end_spread_before_ns = clocks.end_spread_before_ns;
  out.end_spread_after_ns = clocks.end_spread_after_ns;
  out.diagnostics = job.findings;
  for (const Finding& finding : instances.findings) out.diagnostics.push_back(finding);
  for (const Finding& finding : clocks.findings) out.diagnostics.push_back(finding);
  for (const Finding& finding : decomposition.findings) out.diagnostics.push_back(finding);
  for (Finding& finding : report::own_findings(sources, out)) out.diagnostics.push_back(std::move(finding));
  sort_findings(out.diagnostics);
  out.losses = report::losses_of_islands(out);
  return out;
}

void set_logged_trend(const CorrelatedJob& logged, JobReport& report) {
  const Blame blame;
  const std::vector<RankSummary> summaries;
  const report::Sources sources{logged.job, logged.instances, logged.clocks, logged.decomposition, blame, summaries};
  std::vector<TrendRow> trend = report::trend_rows(sources);
  if (trend.empty()) return;
  for (TrendRow& row : trend) row.start_ns += logged.clocks.reference_ns - report.job.window_start_ns;
  report.trend = std::move(trend);
}

}  // namespace skewscope
