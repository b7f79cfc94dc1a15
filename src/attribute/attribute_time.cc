// The stage: puts every nanosecond of every call under one label, then sums per trace in instance order. Where clocks
// or semantics cannot support a split, the label is "unattributed" with its reason.
//
// Two passes, each in parallel. Of every instance: who waited how long, from the spans of its members; processes share
// the instances in equal blocks. Of every call and every step: what of it was exposed, from the rows of its trace; done
// where these are. What either pass found is told to all processes, so that all come to the same sums.

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "all_to_all.h"
#include "busy_intervals.h"
#include "class_totals.h"
#include "collectives/open_end.h"
#include "skewscope/attribute.h"
#include "split_call.h"
#include "step_parts.h"
#include "wait_bar.h"

namespace skewscope {
namespace {

using attribute::Arrival;
using attribute::BusyIntervals;
using attribute::InstanceSplit;
using attribute::WaitBar;

constexpr size_t kCallsPerTask = 1024;

// The wait comes first, then the transfer; the exposed share of each is what no computation covers.
CallParts split_parts(const CallSpan& call, int64_t wait_ns, BusyIntervals::InOrder& busy) {
  CallParts p;
  p.wait_ns = wait_ns;
  p.transfer_ns = call.duration_ns - wait_ns;
  const LocalNs middle = call.start + wait_ns;
  p.exposed_wait_ns = p.wait_ns - busy.covered_ns(call.start, middle);
  p.exposed_transfer_ns = p.transfer_ns - busy.covered_ns(middle, call.end());
  return p;
}

CallParts unsplit_parts(const CallSpan& call, BusyIntervals::InOrder& busy) {
  CallParts p;
  p.unattributed_ns = call.duration_ns;
  p.exposed_unattributed_ns = call.duration_ns - busy.covered_ns(call.start, call.end());
  return p;
}

struct Stage {
  const JobTrace& job;
  const InstanceTable& table;
  const ClockModel& clocks;
  Exchange& exchange;
  Decomposition d;
  std::vector<int64_t> wait_ns;                   // per row of table.members
  std::vector<StepParts> exposed;                 // per trace, from its first call to the end of its last one
  std::vector<uint32_t> instance_of_row;          // per row of table.members
  std::vector<std::vector<ClassTotals>> classes;  // per trace

  Stage(const JobTrace& j, const InstanceTable& t, const ClockModel& c, Exchange& e)
      : job(j), table(t), clocks(c), exchange(e), wait_ns(t.members.size(), 0) {
    for (size_t id = 0; id < table.instances.size(); ++id) {
      instance_of_row.insert(instance_of_row.end(), table.instances[id].member_count, static_cast<uint32_t>(id));
    }
    d.members.resize(table.members.size());
    d.caused_ns.resize(table.members.size());
    d.instances.resize(table.instances.size());
    d.traces.resize(job.traces.size());
    d.unmatched.resize(table.unmatched.size());
    exposed.resize(job.traces.size());
    classes.resize(job.traces.size());
    d.group_kinds = group_kinds(table.communicators, job);
  }

  bool one_clock(const CollectiveInstance& i) const {
    const int32_t component = clocks.clocks[table.members[i.first_member].trace.index()].component;
    for (uint32_t k = 0; k < i.member_count; ++k) {
      if (clocks.clocks[table.members[i.first_member + k].trace.index()].component != component) return false;
    }
    return component >= 0;
  }

  // The largest error bar of a member's clock; -1: unknown.
  int64_t member_bar_ns(const CollectiveInstance& i) const {
    int64_t bar = -1;
    for (uint32_t k = 0; k < i.member_count; ++k) {
      bar = std::max(bar, clocks.clocks[table.members[i.first_member + k].trace.index()].uncertainty_ns);
    }
    return bar;
  }

  bool extrapolated(const CollectiveInstance& i) const {
    for (uint32_t k = 0; k < i.member_count; ++k) {
      const TraceClock& clock = clocks.clocks[table.members[i.first_member + k].trace.index()];
      const CallSpan& call = table.spans[i.first_member + k];
      if (call.start < clock.tied_from || call.end() > clock.tied_to) return true;
    }
    return false;
  }

  // Whether the end of a member's call was not recorded: its own wait is not known, and the sum of all is a bound.
  bool any_open_end(const CollectiveInstance& i) const {
    const auto first = table.spans.begin() + i.first_member;
    return std::any_of(first, first + i.member_count, [](const CallSpan& call) { return lacks_end(call.duration_ns); });
  }

  SplitNote note_of(const CollectiveInstance& i, const InstanceTiming& timing, const InstanceSplit& parts) const {
    if (!i.complete || any_open_end(i)) return SplitNote::incomplete;
    if (extrapolated(i)) return SplitNote::extrapolated;
    const int64_t longest = *std::max_element(parts.wait_ns.begin(), parts.wait_ns.end());
    return timing.wait_bar_ns > longest / 2 ? SplitNote::inconclusive : SplitNote::none;
  }

  static void measure(const std::vector<Arrival>& arrivals, InstanceTiming& timing) {
    int64_t first_start = INT64_MAX, last_start = INT64_MIN, first_end = INT64_MAX, last_end = INT64_MIN;
    timing.shortest_ns = INT64_MAX;
    for (const Arrival& a : arrivals) {
      first_start = std::min(first_start, a.start_ns);
      last_start = std::max(last_start, a.start_ns);
      if (lacks_end(a.duration_ns)) continue;
      first_end = std::min(first_end, a.end_ns());
      last_end = std::max(last_end, a.end_ns());
      timing.shortest_ns = std::min(timing.shortest_ns, a.duration_ns);
    }
    timing.last_arrival = JobNs{last_start};
    timing.start_skew_ns = last_start - first_start;
    const bool any_end = last_end >= first_end;
    if (!any_end) timing.shortest_ns = 0;
    timing.end_skew_ns = any_end ? last_end - first_end : 0;
    timing.transfer_ns = any_end ? std::max<int64_t>(0, first_end - last_start) : 0;
  }

  // Start and end each by the clock at that time: of a call of 20 s, a drift of 20 ppm takes 400 us.
  std::vector<Arrival> arrivals_of(const CollectiveInstance& i) const {
    std::vector<Arrival> arrivals;
    for (uint32_t k = 0; k < i.member_count; ++k) {
      const CallSpan& call = table.spans[i.first_member + k];
      const TraceIndex trace = table.members[i.first_member + k].trace;
      const JobNs start = clocks.to_job(trace, call.start);
      arrivals.push_back({start.ns, std::max<int64_t>(0, clocks.to_job(trace, call.end()) - start)});
    }
    return arrivals;
  }

  // Waits were found on the common clock; the parts of a call are told on its own.
  void to_own_clocks(const CollectiveInstance& i, const std::vector<Arrival>& arrivals, InstanceSplit& parts) const {
    for (uint32_t k = 0; k < i.member_count; ++k) {
      const int64_t own_ns = table.spans[i.first_member + k].duration_ns, common_ns = arrivals[k].duration_ns;
      if (own_ns == common_ns || common_ns == 0) continue;
      const double rate = static_cast<double>(own_ns) / static_cast<double>(common_ns);
      const int64_t wait = std::clamp<int64_t>(std::llround(static_cast<double>(parts.wait_ns[k]) * rate), 0, own_ns);
      int64_t& charged = parts.caused_ns[parts.last];
      charged = std::max<int64_t>(0, charged + wait - parts.wait_ns[k]);
      parts.wait_ns[k] = wait;
    }
  }

  int64_t shortest_transfer_ns(const CollectiveInstance& i, const InstanceSplit& parts) const {
    int64_t shortest = INT64_MAX;
    for (uint32_t k = 0; k < i.member_count; ++k) {
      const int64_t duration_ns = table.spans[i.first_member + k].duration_ns;
      if (!lacks_end(duration_ns)) shortest = std::min(shortest, duration_ns - parts.wait_ns[k]);
    }
    return shortest < INT64_MAX ? shortest : 0;
  }

  // Of messages: who waits for whom.
  std::vector<Awaited> awaited_in(const CollectiveInstance& i, const std::vector<Arrival>& arrivals) const {
    std::vector<BatchEnd> ends;
    if (i.kind == CollectiveKind::send && i.special >= 0 && i.member_count == 2) {
      const auto sender = static_cast<size_t>(i.special);
      ends = {{sender, 1 - sender, false}, {1 - sender, sender, true}};
    } else if (i.kind == CollectiveKind::coalesced) {
      for (uint32_t k = 0; k < i.member_count; ++k) {
        for (const BatchLink& link : links_of(table, i.first_member + k)) {
          ends.push_back({k, link.partner - i.first_member, link.receives});
        }
      }
    }
    if (ends.empty()) return {};
    std::vector<BatchCall> calls;
    for (const Arrival& arrival : arrivals) calls.push_back({arrival.start_ns, arrival.end_ns()});
    return awaited_in_batch(calls, ends);
  }

  // What the instance's parts rest on, or why there are none.
  std::optional<InstanceSplit> decide(const CollectiveInstance& i, const WaitBar& bar, std::vector<Arrival> arrivals,
                                      InstanceTiming& timing) const {
    timing.reason = SplitReason::unconnected;
    if (!one_clock(i)) return std::nullopt;
    const Dependency dependency = dependency_of(i.kind);
    const std::vector<Awaited> awaited = awaited_in(i, arrivals);
    const bool broken = dependency == Dependency::everyone ? attribute::breaks_causality(bar, arrivals)
                                                           : attribute::breaks_causality(bar, arrivals, awaited);
    if (broken) {
      timing.reason = SplitReason::causality;
      return std::nullopt;
    }
    timing.basis = bar.basis();
    if (timing.basis == SplitBasis::durations) arrivals = attribute::arrivals_by_duration(arrivals);
    const std::optional<size_t> special = i.special < 0 ? std::nullopt : std::optional<size_t>(i.special);
    std::optional<InstanceSplit> parts = split_instance(dependency, arrivals, special, awaited);
    timing.reason = parts ? SplitReason::split : SplitReason::semantics;
    if (parts) to_own_clocks(i, arrivals, *parts);
    return parts;
  }

  void split(size_t id) {
    const CollectiveInstance& i = table.instances[id];
    InstanceTiming& timing = d.instances[id];
    const std::vector<Arrival> arrivals = arrivals_of(i);
    measure(arrivals, timing);
    WaitBar bar = attribute::wait_bar(clocks, i, member_bar_ns(i));
    if (any_open_end(i)) bar.durations_ns = -1;
    const std::optional<InstanceSplit> parts = decide(i, bar, arrivals, timing);
    if (!parts) return;
    std::copy(parts->wait_ns.begin(), parts->wait_ns.end(), wait_ns.begin() + i.first_member);
    std::copy(parts->caused_ns.begin(), parts->caused_ns.end(), d.caused_ns.begin() + i.first_member);
    timing.wait_bar_ns = bar.ns();
    timing.contradicted = attribute::contradicts(bar, arrivals);
    if (timing.basis == SplitBasis::durations) {
      const size_t last = i.first_member + parts->last;
      timing.last_arrival = clocks.to_job(table.members[last].trace, table.spans[last].start);
    } else {
      timing.last_arrival = JobNs{parts->last_arrival_ns};
    }
    const Dependency dependency = dependency_of(i.kind);
    // Of a rooted call a member may come when the bytes are there already.
    if (dependency == Dependency::everyone || dependency == Dependency::partners) {
      timing.transfer_ns = shortest_transfer_ns(i, *parts);
    }
    timing.note = note_of(i, timing, *parts);
    const int64_t tie_ns = std::max<int64_t>(0, timing.wait_bar_ns);
    if (i.complete && parts->lead_ns > tie_ns) timing.last = table.members[i.first_member + parts->last].trace;
  }

  // Blocks with equally many members.
  int32_t owner_of(size_t id) const {
    const auto processes = static_cast<uint64_t>(exchange.processes());
    return static_cast<int32_t>(table.instances[id].first_member * processes / table.members.size());
  }

  void split_instances() {
    tbb::parallel_for(size_t{0}, table.instances.size(), [&](size_t id) {
      if (owner_of(id) == exchange.process()) split(id);
    });
    const auto owner_of_row = [&](size_t row) { return owner_of(instance_of_row[row]); };
    share(
        exchange, [&](size_t id) { return owner_of(id); }, d.instances);
    share(exchange, owner_of_row, wait_ns);
    share(exchange, owner_of_row, d.caused_ns);
  }

  // Rows of table.members and of table.unmatched that are one trace's.
  struct TraceRows {
    std::vector<uint32_t> members, unmatched;
    std::vector<TraceStep> steps;
    std::vector<TraceRest> rests;
  };

  const CollectiveCall& call_of(const UnmatchedCall& unmatched) const {
    return job[unmatched.call.trace].calls[static_cast<size_t>(unmatched.call.call)];
  }

  // By CollectiveCall::together: when the last of a process' GPUs came to their collective.
  using LastArrivals = std::map<int32_t, LocalNs>;

  LastArrivals arrivals_among_devices(const TraceRows& rows) const {
    LastArrivals last;
    for (const uint32_t u : rows.unmatched) {
      const CollectiveCall& call = call_of(table.unmatched[u]);
      if (call.together < 0) continue;
      const auto [at, added] = last.emplace(call.together, call.start);
      if (!added) at->second = std::max(at->second, call.start);
    }
    return last;
  }

  // Of a call that no other trace has a part in; nullopt: of another, or who waits for whom is not known.
  std::optional<int64_t> lone_wait_ns(const UnmatchedCall& unmatched, const LastArrivals& arrivals) const {
    if (unmatched.reason == UnmatchedReason::one_sided) return 0;
    if (unmatched.reason != UnmatchedReason::own_devices) return std::nullopt;
    const CollectiveCall& call = call_of(unmatched);
    if (dependency_of(call.kind) != Dependency::everyone) return std::nullopt;
    return std::clamp<int64_t>(arrivals.at(call.together) - call.start, 0, call.duration_ns);
  }

  // The rows of one trace, which are by time for the most part: each is looked for near the last one of its block.
  template <class Label>
  static void label_each(const std::vector<uint32_t>& rows, const BusyIntervals& busy, const Label& label) {
    tbb::parallel_for(tbb::blocked_range<size_t>(0, rows.size(), kCallsPerTask),
                      [&](const tbb::blocked_range<size_t>& block) {
                        BusyIntervals::InOrder near(busy);
                        for (size_t k = block.begin(); k < block.end(); ++k) label(rows[k], near);
                      });
  }

  void label_calls_of(TraceIndex t, TraceRows& rows) {
    if (!job.holds(t)) return;
    std::optional<BusyIntervals> made;
    std::vector<attribute::LabelEdge> edges;
    const size_t calls = rows.members.size() + rows.unmatched.size();
    std::vector<StepSpan> spans;
    tbb::parallel_invoke([&] { made.emplace(job[t].gpu); }, [&] { edges = attribute::copy_edges(job[t].gpu, calls); },
                         [&] {
                           const bool on_gpu = d.step_basis == StepBasis::gpu;
                           spans = on_gpu ? step_spans(job[t]) : host_step_spans(job[t]);
                         });
    const BusyIntervals& busy = *made;
    const LastArrivals arrivals = arrivals_among_devices(rows);
    label_each(rows.members, busy, [&](uint32_t row, BusyIntervals::InOrder& near) {
      const bool split = d.instances[instance_of_row[row]].reason == SplitReason::split;
      d.members[row] =
          split ? split_parts(table.spans[row], wait_ns[row], near) : unsplit_parts(table.spans[row], near);
    });
    label_each(rows.unmatched, busy, [&](uint32_t row, BusyIntervals::InOrder& near) {
      const UnmatchedCall& unmatched = table.unmatched[row];
      const CollectiveCall& call = call_of(unmatched);
      const CallSpan span{call.start, call.duration_ns};
      const std::optional<int64_t> wait = lone_wait_ns(unmatched, arrivals);
      d.unmatched[row] = wait ? split_parts(span, *wait, near) : unsplit_parts(span, near);
    });
    LocalNs first{INT64_MAX}, last{INT64_MIN};
    const auto add = [&](LocalNs start, const CallParts& parts) {
      attribute::add_edges(start, parts, edges);
      first = std::min(first, start);
      last = std::max(last, start + parts.duration_ns());
    };
    for (const uint32_t row : rows.members) add(table.spans[row].start, d.members[row]);
    for (const uint32_t u : rows.unmatched) add(call_of(table.unmatched[u]).start, d.unmatched[u]);
    const attribute::StepLabels exposures(std::move(edges), busy);
    tbb::parallel_invoke([&] { label_steps_of(t, spans, exposures, rows); },
                         [&] { exposed[t.index()] = exposures.between(first, last); },
                         [&] { classes[t.index()] = classes_of(t, rows, busy); });
  }

  std::vector<ClassTotals> classes_of(TraceIndex t, const TraceRows& rows, const BusyIntervals& busy) const {
    std::vector<attribute::ClassedCall> calls;
    calls.reserve(rows.members.size() + rows.unmatched.size());
    for (const uint32_t row : rows.members) {
      const CollectiveInstance& i = table.instances[instance_of_row[row]];
      const CollectiveCall& call = job[t].calls[static_cast<size_t>(table.members[row].call)];
      calls.push_back({attribute::class_of(i, call, d.group_kinds), call.gpu_row >= 0, call.start, d.members[row]});
    }
    for (const uint32_t u : rows.unmatched) {
      const CollectiveCall& call = call_of(table.unmatched[u]);
      calls.push_back({attribute::class_of(call, table.communicators, d.group_kinds), call.gpu_row >= 0, call.start,
                       d.unmatched[u]});
    }
    return attribute::class_totals(std::move(calls), busy);
  }

  static void label_steps_of(TraceIndex t, const std::vector<StepSpan>& spans, const attribute::StepLabels& labels,
                             TraceRows& rows) {
    std::vector<const StepSpan*> steps;
    for (const StepSpan& span : spans) {
      if (span.place == StepPlace::step) steps.push_back(&span);
    }
    rows.steps.resize(steps.size());
    tbb::parallel_for(size_t{0}, steps.size(), [&](size_t i) { rows.steps[i] = labels.step(t, *steps[i]); });
    rows.rests = labels.rests(t, spans);
  }

  // What each process found of its own traces, told to all.
  void lay_out_steps(std::vector<TraceRows>& rows) {
    for (TraceRows& own : rows) {
      d.trace_steps.insert(d.trace_steps.end(), own.steps.begin(), own.steps.end());
      d.trace_rests.insert(d.trace_rests.end(), own.rests.begin(), own.rests.end());
      own = TraceRows();
    }
    d.trace_steps = all_rows(exchange, std::move(d.trace_steps));
    d.trace_rests = all_rows(exchange, std::move(d.trace_rests));
    std::sort(d.trace_rests.begin(), d.trace_rests.end(), [](const TraceRest& a, const TraceRest& b) {
      return std::tie(a.trace, a.place) < std::tie(b.trace, b.place);
    });
    d.steps = attribute::steps_of(job, clocks, d.trace_steps);
    d.island_steps = attribute::steps_of_islands(job, clocks, d.trace_steps);
  }

  void label_calls() {
    std::vector<TraceRows> rows(job.traces.size());
    d.step_basis = attribute::step_basis(job);
    for (size_t row = 0; row < table.members.size(); ++row) {
      rows[table.members[row].trace.index()].members.push_back(static_cast<uint32_t>(row));
    }
    for (size_t u = 0; u < table.unmatched.size(); ++u) {
      rows[table.unmatched[u].call.trace.index()].unmatched.push_back(static_cast<uint32_t>(u));
    }
    tbb::parallel_for(size_t{0}, job.traces.size(),
                      [&](size_t t) { label_calls_of(TraceIndex(static_cast<int64_t>(t)), rows[t]); });
    lay_out_steps(rows);
    share(
        exchange, [&](size_t row) { return job[table.members[row].trace].process; }, d.members);
    share(
        exchange, [&](size_t u) { return job[table.unmatched[u].call.trace].process; }, d.unmatched);
    share(
        exchange, [&](size_t t) { return job.traces[t].process; }, exposed);
    d.classes = attribute::merged(all_rows(exchange, attribute::merged(attribute::joined(classes))));
  }

  static void add(const CallParts& p, TraceTotals& totals) {
    ++totals.collectives;
    totals.parts.wait_ns += p.wait_ns;
    totals.parts.transfer_ns += p.transfer_ns;
    totals.parts.unattributed_ns += p.unattributed_ns;
  }

  void report_contradictions() {
    Finding finding;
    finding.code = "split-contradiction";
    finding.count = std::count_if(d.instances.begin(), d.instances.end(),
                                  [](const InstanceTiming& timing) { return timing.contradicted; });
    finding.message =
        "transfer times with clocks and by shortest duration differ by more than three deviations: late exits, or a "
        "wrong match";
    if (finding.count > 0) d.findings.push_back(std::move(finding));
  }

  void sum_up() {
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
};

}  // namespace

Decomposition attribute_time(const JobTrace& job, const InstanceTable& table, const ClockModel& clocks,
                             Exchange& exchange) {
  Stage stage(job, table, clocks, exchange);
  stage.split_instances();
  stage.label_calls();
  stage.sum_up();
  stage.d.all_to_all = attribute::all_to_all_totals(job, table, stage.d, exchange);
  stage.report_contradictions();
  return std::move(stage.d);
}

}  // namespace skewscope
