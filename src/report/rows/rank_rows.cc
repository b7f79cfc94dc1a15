#include "rank_rows.h"

#include <algorithm>
#include <map>

#include "measured_waits.h"

namespace skewscope::report {
namespace {

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

void add_measured_waits(const Sources& sources, std::map<int32_t, JobReport::RankRow>& by_rank) {
  for (size_t i = 0; i < sources.instances.instances.size(); ++i) {
    const InstanceView view(sources, i);
    if (!view.split()) continue;
    for (size_t m = 0; m < view.size(); ++m) {
      if (view.call(m).measured_wait_ns < 0) continue;
      add_measured_wait(view.call(m), view.parts(m), by_rank[view.trace(m).rank.value]);
    }
  }
}

}  // namespace

std::vector<JobReport::RankRow> rank_rows(const Sources& sources) {
  std::map<int32_t, JobReport::RankRow> by_rank;
  for (size_t t = 0; t < sources.job.traces.size(); ++t) {
    const RankTrace& trace = sources.job.traces[t];
    JobReport::RankRow& row = by_rank[trace.rank.value];
    row.rank = trace.rank.value;
    if (row.host.empty()) row.host = trace.host;
    if (row.device < 0) row.device = trace.device;
    if (row.device_name.empty()) row.device_name = trace.device_name;
    add_timeline(row, sources.summaries[t]);
    add_totals(row, sources.decomposition.traces[t]);
    add_blame(row, sources.blame.traces[t]);
  }
  add_measured_waits(sources, by_rank);
  std::vector<JobReport::RankRow> rows;
  rows.reserve(by_rank.size());
  for (auto& [rank, row] : by_rank) rows.push_back(std::move(row));
  return rows;
}

}  // namespace skewscope::report
