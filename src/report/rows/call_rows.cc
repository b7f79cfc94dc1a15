#include "call_rows.h"

#include <tbb/parallel_for.h>

#include <map>
#include <set>
#include <utility>

#include "collectives/open_end.h"

namespace skewscope::report {
namespace {

// Why the row's split is missing or weak; "" where neither.
const char* note_of(const InstanceView& view) {
  if (!view.split()) return to_string(view.timing.reason);
  return view.instance.complete ? to_string(view.timing.note) : "incomplete: lower bound";
}

int64_t since_start(const ClockModel& clocks, TraceIndex trace, LocalNs stamp) {
  return clocks.to_job(trace, stamp).ns - clocks.reference_ns;
}

JobReport::CallRow call_row(const InstanceView& view, size_t member, int32_t id) {
  const CollectiveInstance& instance = view.instance;
  const CollectiveCall& call = view.call(member);
  const CallParts& parts = view.parts(member);
  JobReport::CallRow row;
  row.instance = id;
  row.communicator = instance.communicator.value;
  row.seq = instance.seq >= 0 ? instance.seq : instance.ordinal;
  row.op = call.kind == CollectiveKind::unknown ? instance.kind : call.kind;
  row.dtype = to_string(instance.dtype);
  row.bytes = instance.bytes;
  row.rank = view.trace(member).rank.value;
  row.start_ns = since_start(view.sources.clocks, view.ref(member).trace, call.start);
  row.end_ns = row.start_ns + call.duration_ns;  // the parts sum to the duration as recorded
  const bool open = lacks_end(call.duration_ns);
  if (view.split() && !open) {
    row.wait_ns = parts.wait_ns;
    row.transfer_ns = parts.transfer_ns;
  }
  row.exposed_ns = view.trace(member).calls_only ? -1 : parts.exposed_ns();
  row.timed = !view.trace(member).durations_only;
  row.complete = instance.complete;
  row.note = open ? "end not recorded" : note_of(view);
  row.wait_bar_ns = view.split() && !open ? view.timing.wait_bar_ns : -1;
  row.basis = view.split() && !open ? to_string(view.timing.basis) : "";
  row.step = call.step;
  row.measured_wait_ns = call.measured_wait_ns;
  return row;
}

}  // namespace

std::vector<JobReport::CallRow> call_rows(const Sources& sources) {
  std::vector<JobReport::CallRow> rows(sources.instances.members.size());
  tbb::parallel_for(size_t{0}, sources.instances.instances.size(), [&](size_t i) {
    const InstanceView view(sources, i);
    for (size_t m = 0; m < view.size(); ++m) rows[view.row(m)] = call_row(view, m, static_cast<int32_t>(i));
  });
  return rows;
}

SingleMembers single_members(const Sources& sources) {
  const JobTrace& job = sources.job;
  std::set<std::pair<int32_t, int32_t>> present;  // session and rank
  for (const RankTrace& trace : job.traces) present.emplace(trace.session.value, trace.rank.value);
  std::set<int32_t> missing;
  SingleMembers single;
  std::map<std::pair<int32_t, int32_t>, bool> alone;  // session and communicator
  for (const UnmatchedCall& unmatched : sources.instances.unmatched) {
    if (unmatched.reason != UnmatchedReason::alone) continue;
    const RankTrace& trace = job[unmatched.call.trace];
    const CollectiveCall& call = trace.calls[static_cast<size_t>(unmatched.call.call)];
    if (!call.communicator.known()) continue;
    const std::vector<Rank>& members = job.communicators[call.communicator].members;
    const auto [known, added] = alone.try_emplace({trace.session.value, call.communicator.value}, true);
    for (size_t i = 0; added && i < members.size(); ++i) {
      const bool other = members[i] != trace.rank;
      if (other && present.count({trace.session.value, members[i].value}) > 0) known->second = false;
    }
    if (!known->second || members.size() < 2) continue;
    ++single.calls;
    for (const Rank member : members) {
      if (member != trace.rank) missing.insert(member.value);
    }
  }
  single.missing.assign(missing.begin(), missing.end());
  return single;
}

void add_unmatched_rows(const Sources& sources, JobReport& report) {
  const auto names = std::make_shared<StringTable>();
  report.unmatched.reserve(sources.instances.unmatched.size());
  for (const UnmatchedCall& unmatched : sources.instances.unmatched) {
    if (!lacks_members(unmatched.reason)) continue;
    const std::string_view kernel = names->view(names->intern(sources.job.strings.view(unmatched.kernel)));
    const RankTrace& trace = sources.job[unmatched.call.trace];
    const CollectiveCall& call = trace.calls[static_cast<size_t>(unmatched.call.call)];
    JobReport::UnmatchedRow row;
    row.rank = trace.rank.value;
    row.communicator = call.communicator.value;
    row.op = call.kind;
    row.dtype = to_string(call.dtype);
    row.reason = unmatched.reason;
    row.kernel = kernel;
    row.start_ns = since_start(sources.clocks, unmatched.call.trace, call.start);
    row.duration_ns = call.duration_ns;
    report.unmatched.push_back(row);
  }
  report.kernel_names = names;
}

}  // namespace skewscope::report
