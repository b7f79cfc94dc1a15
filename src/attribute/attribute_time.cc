// The stage: puts every nanosecond of every call under one label, then sums per trace in instance order. Where clocks
// or semantics cannot support a split, the label is "unattributed" with its reason.

#include <algorithm>
#include <utility>

#include "all_to_all.h"
#include "label_calls.h"
#include "skewscope/attribute.h"
#include "split_instances.h"

namespace skewscope {
namespace {

void add(const CallParts& p, TraceTotals& totals) {
  ++totals.collectives;
  totals.parts.wait_ns += p.wait_ns;
  totals.parts.transfer_ns += p.transfer_ns;
  totals.parts.unattributed_ns += p.unattributed_ns;
}

// Sums per trace, in the order of instances. `exposed`: per trace.
void sum_up(const InstanceTable& table, const std::vector<StepParts>& exposed, Decomposition& d) {
  for (size_t id = 0; id < table.instances.size(); ++id) {
    const CollectiveInstance& i = table.instances[id];
    const InstanceTiming& timing = d.instances[id];
    for (size_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      TraceTotals& totals = d.traces[table.members[row].trace.index()];
      add(d.members[row], totals);
      totals.delay_caused_ns += d.caused_ns[row];
      if (i.complete && timing.reason == SplitReason::split) ++totals.late_candidates;
      if (timing.last == table.members[row].trace) ++totals.late_count;
    }
  }
  for (size_t u = 0; u < table.unmatched.size(); ++u) {
    add(d.unmatched[u], d.traces[table.unmatched[u].call.trace.index()]);
  }
  for (size_t t = 0; t < d.traces.size(); ++t) {
    CallParts& parts = d.traces[t].parts;
    parts.exposed_wait_ns = exposed[t].exposed_wait_ns;
    parts.exposed_transfer_ns = exposed[t].exposed_transfer_ns;
    parts.exposed_unattributed_ns = exposed[t].exposed_unattributed_ns;
  }
}

void report_contradictions(Decomposition& d) {
  Finding finding;
  finding.code = "split-contradiction";
  finding.count = std::count_if(d.instances.begin(), d.instances.end(),
                                [](const InstanceTiming& timing) { return timing.contradicted; });
  finding.message =
      "transfer times from clocks and from the shortest call differ by more than three deviations: some ranks leave "
      "late, or calls were matched wrongly";
  if (finding.count > 0) d.findings.push_back(std::move(finding));
}

}  // namespace

Decomposition attribute_time(const JobTrace& job, const InstanceTable& table, const ClockModel& clocks,
                             Exchange& exchange) {
  Decomposition d;
  d.group_kinds = group_kinds(table.communicators, job);
  attribute::InstanceWaits waits = attribute::split_instances(table, clocks, exchange);
  // From here on it is known of each member's call how long it waited, or why nobody knows.
  d.instances = std::move(waits.instances);
  d.caused_ns = std::move(waits.caused_ns);
  const std::vector<StepParts> exposed = attribute::label_calls(job, table, clocks, waits, exchange, d);
  // From here on every nanosecond of every call has one label.
  d.traces.resize(job.traces.size());
  sum_up(table, exposed, d);
  d.all_to_all = attribute::all_to_all_totals(job, table, d, exchange);
  report_contradictions(d);
  return d;
}

}  // namespace skewscope
