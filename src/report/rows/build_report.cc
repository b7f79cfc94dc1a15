#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <map>
#include <set>

#include "all_to_all_rows.h"
#include "call_rows.h"
#include "collective_rows.h"
#include "efficiency.h"
#include "islands.h"
#include "overlap_rows.h"
#include "own_findings.h"
#include "pipeline_rows.h"
#include "rank_statistics.h"
#include "rooms.h"
#include "skewscope/model/clock_components.h"
#include "step_rows.h"
#include "stragglers.h"
#include "what_if_rows.h"

namespace skewscope {
namespace report {
namespace {

JobReport::Job job_of(const Rooms& rooms) {
  JobReport::Job job;
  std::set<int32_t> present;
  std::set<std::string> hosts;
  std::set<int64_t> steps;
  for (const RankTrace& trace : rooms.job.traces) {
    present.insert(trace.rank.value);
    if (!trace.host.empty()) hosts.insert(trace.host);
    for (const StepRange& step : trace.steps) steps.insert(step.number);
  }
  for (int32_t rank = 0; rank < rooms.job.world_size; ++rank) {
    if (!present.contains(rank)) job.ranks_missing.push_back(rank);
  }
  job.name = rooms.job.name;
  job.world_size = rooms.job.world_size;
  job.ranks_present.assign(present.begin(), present.end());
  job.hosts.assign(hosts.begin(), hosts.end());
  job.steps.assign(steps.begin(), steps.end());
  job.window_start_ns = rooms.clocks.reference_ns;
  job.window_ns = rooms.clocks.window_ns;
  job.vendor = rooms.job.vendor;
  job.sessions = rooms.job.sessions;
  job.step_basis = to_string(rooms.decomposition.step_basis);
  return job;
}

// Ranks that other components have are not tied to the reference, however well they are tied to one another.
std::vector<JobReport::Clock> clock_rows(const Rooms& rooms, const std::vector<ClockComponent>& components) {
  std::vector<int32_t> component(rooms.job.traces.size());
  std::vector<bool> largest(rooms.job.traces.size());
  for (size_t c = 0; c < components.size(); ++c) {
    for (const TraceIndex trace : components[c].traces) {
      component[trace.index()] = static_cast<int32_t>(c);
      largest[trace.index()] = c == 0 || components[c - 1].session != components[c].session;
    }
  }
  std::vector<JobReport::Clock> rows;
  for (size_t t = 0; t < rooms.job.traces.size(); ++t) {
    const RankTrace& trace = rooms.job.traces[t];
    const TraceClock& clock = rooms.clocks.clocks[t];
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

std::vector<JobReport::Component> components_of_clocks(const Rooms& rooms,
                                                       const std::vector<ClockComponent>& components) {
  std::vector<JobReport::Component> rows;
  for (const ClockComponent& component : components) {
    JobReport::Component& row = rows.emplace_back();
    row.session = component.session.value;
    row.window_ns = component.window_ns;
    for (const TraceIndex trace : component.traces) row.ranks.push_back(rooms.job[trace].rank.value);
    std::sort(row.ranks.begin(), row.ranks.end());
  }
  return rows;
}

std::vector<JobReport::CommunicatorRow> communicator_rows(const Rooms& rooms) {
  std::map<int32_t, std::string> host_of_rank;
  for (const RankTrace& trace : rooms.job.traces) {
    if (!trace.host.empty()) host_of_rank.emplace(trace.rank.value, trace.host);
  }
  std::vector<JobReport::CommunicatorRow> rows;
  for (const Communicator& communicator : rooms.instances.communicators.communicators) {
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
  for (const CollectiveInstance& instance : rooms.instances.instances) {
    if (instance.communicator.known()) rows[instance.communicator.index()].collectives++;
  }
  return rows;
}

void add_timeline(JobReport::RankRow& row, const RankSummary& summary) {
  row.total_ns += summary.total_ns;
  row.compute_ns += summary.compute_ns;
  row.communication_ns += summary.communication_ns;
  row.exposed_communication_ns += summary.exposed_communication_ns;
  row.exposed_memcpy_ns += summary.exposed_memcpy_ns;
  row.busy_ns += summary.busy_ns;
  row.idle_ns += summary.idle_ns;
  row.idle_host_wait_ns += summary.idle_host_wait_ns;
  row.idle_kernel_wait_ns += summary.idle_kernel_wait_ns;
  row.idle_other_ns += summary.idle_ns - summary.idle_host_wait_ns - summary.idle_kernel_wait_ns;
}

void add_totals(JobReport::RankRow& row, const TraceTotals& totals) {
  row.collectives += totals.collectives;
  row.wait_ns += totals.parts.wait_ns;
  row.transfer_ns += totals.parts.transfer_ns;
  row.unattributed_ns += totals.parts.unattributed_ns;
  row.exposed_wait_ns += totals.parts.exposed_wait_ns;
  row.exposed_transfer_ns += totals.parts.exposed_transfer_ns;
  row.late_count += totals.late_count;
  row.delay_caused_ns += totals.delay_caused_ns;
}

void add_blame(JobReport::RankRow& row, const TraceBlame& blame) {
  row.blocking_communication_ns += blame.exposed.blocking_ns;
  row.coincided_communication_ns += blame.exposed.coincided_ns;
  row.unknown_communication_ns += blame.exposed.unknown_ns;
  const bool known = std::min(row.instant_calls_saved_ns, blame.instant_calls_saved_ns) >= 0;
  row.instant_calls_saved_ns = known ? row.instant_calls_saved_ns + blame.instant_calls_saved_ns : -1;
}

// One row per rank, its sessions added up.
std::vector<JobReport::RankRow> rank_rows(const Rooms& rooms) {
  std::map<int32_t, JobReport::RankRow> by_rank;
  for (size_t t = 0; t < rooms.job.traces.size(); ++t) {
    const RankTrace& trace = rooms.job.traces[t];
    JobReport::RankRow& row = by_rank[trace.rank.value];
    row.rank = trace.rank.value;
    if (row.host.empty()) row.host = trace.host;
    if (row.device < 0) row.device = trace.device;
    if (row.device_name.empty()) row.device_name = trace.device_name;
    add_timeline(row, rooms.summaries[t]);
    add_totals(row, rooms.decomposition.traces[t]);
    add_blame(row, rooms.blame.traces[t]);
  }
  std::vector<JobReport::RankRow> rows;
  rows.reserve(by_rank.size());
  for (auto& [rank, row] : by_rank) rows.push_back(std::move(row));
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

JobReport::Matching matching_of(const Rooms& rooms) {
  JobReport::Matching m;
  m.matched = static_cast<int64_t>(rooms.instances.members.size());
  const std::vector<UnmatchedCall>& unmatched = rooms.instances.unmatched;
  m.unmatched = std::count_if(unmatched.begin(), unmatched.end(),
                              [](const UnmatchedCall& call) { return lacks_members(call.reason); });
  m.calls = m.matched + m.unmatched;
  std::map<MatchMethod, int64_t> methods;
  for (const CollectiveInstance& instance : rooms.instances.instances) {
    m.incomplete_instances += instance.complete ? 0 : 1;
    m.mismatched_instances += instance.sizes_differ ? 1 : 0;
    methods[instance.method]++;
  }
  int64_t most = 0;
  for (const auto& [method, count] : methods) {
    if (count > most) m.method = to_string(method);
    most = std::max(most, count);
  }
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
  const report::Rooms rooms{job, instances, clocks, decomposition, blame, summaries};
  JobReport out;
  out.job = report::job_of(rooms);
  const std::vector<ClockComponent> components = components_of(job, clocks);
  out.clocks = report::clock_rows(rooms, components);
  out.components = report::components_of_clocks(rooms, components);
  out.jobs_found = job.jobs_found;
  out.communicators = report::communicator_rows(rooms);
  out.ranks = report::rank_rows(rooms);
  out.steps = report::step_rows(rooms);
  out.rank_steps = report::rank_steps(rooms);
  out.outside_steps = report::outside_steps(rooms);
  // Each of these goes over all calls.
  tbb::parallel_invoke([&] { out.collectives = report::collective_rows(rooms); },
                       [&] { out.collective_steps = report::collective_steps(rooms); },
                       [&] { out.stragglers = report::stragglers_of(rooms); },
                       [&] { out.calls = report::call_rows(rooms); });
  out.overlap = report::overlap_rows(decomposition);
  out.overlap_modules = report::overlap_module_rows(decomposition, job.modules);
  out.all_to_all = report::all_to_all_rows(rooms);
  out.causes = report::cause_rows(rooms);
  out.flows = report::flow_rows(rooms);
  report::set_components(out);
  out.islands = report::island_rows(rooms, out);
  if (out.islands.empty()) {
    out.what_if = report::what_if_rows(rooms, blame, std::ssize(out.job.steps));
    out.pipeline = report::pipeline_of(blame.pipeline);
    out.efficiency = report::efficiency_of(out);
  } else {
    out.what_if = out.islands.front().what_if;
    out.pipeline = out.islands.front().pipeline;
    out.efficiency = out.islands.front().efficiency;
  }
  out.matching = report::matching_of(rooms);
  report::add_unmatched_rows(rooms, out);
  out.rank_statistics = report::rank_statistics(job, figures, out.components);
  out.end_spread_before_ns = clocks.end_spread_before_ns;
  out.end_spread_after_ns = clocks.end_spread_after_ns;
  out.diagnostics = job.findings;
  for (const Finding& finding : instances.findings) out.diagnostics.push_back(finding);
  for (const Finding& finding : clocks.findings) out.diagnostics.push_back(finding);
  for (const Finding& finding : decomposition.findings) out.diagnostics.push_back(finding);
  for (Finding& finding : report::own_findings(rooms, out)) out.diagnostics.push_back(std::move(finding));
  sort_findings(out.diagnostics);
  out.losses = report::losses_of_islands(out);
  return out;
}

}  // namespace skewscope
