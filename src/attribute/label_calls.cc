#include "label_calls.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "busy_intervals.h"
#include "class_totals.h"
#include "collectives/synchronization.h"
#include "step_parts.h"

namespace skewscope::attribute {
namespace {

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

class Labeller {
 public:
  Labeller(const JobTrace& job, const InstanceTable& table, const ClockModel& clocks, const InstanceWaits& waits,
           Exchange& exchange, Decomposition& d)
      : job_(job),
        table_(table),
        clocks_(clocks),
        waits_(waits),
        exchange_(exchange),
        d_(d),
        exposed_(job.traces.size()),
        classes_(job.traces.size()) {
    d.members.resize(table.members.size());
    d.unmatched.resize(table.unmatched.size());
  }

  std::vector<StepParts> label_all() {
    std::vector<TraceRows> rows(job_.traces.size());
    d_.step_basis = step_basis(job_);
    for (size_t row = 0; row < table_.members.size(); ++row) {
      rows[table_.members[row].trace.index()].members.push_back(static_cast<uint32_t>(row));
    }
    for (size_t u = 0; u < table_.unmatched.size(); ++u) {
      rows[table_.unmatched[u].call.trace.index()].unmatched.push_back(static_cast<uint32_t>(u));
    }
    tbb::parallel_for(size_t{0}, job_.traces.size(),
                      [&](size_t t) { label_calls_of(TraceIndex(static_cast<int64_t>(t)), rows[t]); });
    lay_out_steps(rows);
    share(
        exchange_, [&](size_t row) { return job_[table_.members[row].trace].process; }, d_.members);
    share(
        exchange_, [&](size_t u) { return job_[table_.unmatched[u].call.trace].process; }, d_.unmatched);
    share(
        exchange_, [&](size_t t) { return job_.traces[t].process; }, exposed_);
    d_.classes = merged(all_rows(exchange_, merged(joined(classes_))));
    return std::move(exposed_);
  }

 private:
  // Rows of table.members and of table.unmatched that are one trace's.
  struct TraceRows {
    std::vector<uint32_t> members, unmatched;
    std::vector<TraceStep> steps;
    std::vector<TraceRest> rests;
  };

  const CollectiveCall& call_of(const UnmatchedCall& unmatched) const {
    return job_[unmatched.call.trace].calls[static_cast<size_t>(unmatched.call.call)];
  }

  // By CollectiveCall::together: when the last of a process' GPUs came to their collective.
  using LastArrivals = std::map<int32_t, LocalNs>;

  LastArrivals arrivals_among_devices(const TraceRows& rows) const {
    LastArrivals last;
    for (const uint32_t u : rows.unmatched) {
      const CollectiveCall& call = call_of(table_.unmatched[u]);
      if (call.together < 0) continue;
      const auto [at, added] = last.emplace(call.together, call.start);
      if (!added) at->second = std::max(at->second, call.start);
    }
    return last;
  }

  // What a call waited that no other trace has a part in; nullopt: it is none, or who waits for whom is not known.
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
    if (!job_.holds(t)) return;
    std::optional<BusyIntervals> made;
    std::vector<LabelEdge> edges;
    const size_t calls = rows.members.size() + rows.unmatched.size();
    std::vector<StepSpan> spans;
    tbb::parallel_invoke([&] { made.emplace(job_[t].gpu); }, [&] { edges = copy_edges(job_[t].gpu, calls); },
                         [&] {
                           const bool on_gpu = d_.step_basis == StepBasis::gpu;
                           spans = on_gpu ? step_spans(job_[t]) : host_step_spans(job_[t]);
                         });
    const BusyIntervals& busy = *made;
    const LastArrivals arrivals = arrivals_among_devices(rows);
    label_each(rows.members, busy, [&](uint32_t row, BusyIntervals::InOrder& near) {
      const bool split = d_.instances[waits_.instance_of_row[row]].reason == SplitReason::split;
      d_.members[row] =
          split ? split_parts(table_.spans[row], waits_.wait_ns[row], near) : unsplit_parts(table_.spans[row], near);
    });
    label_each(rows.unmatched, busy, [&](uint32_t row, BusyIntervals::InOrder& near) {
      const UnmatchedCall& unmatched = table_.unmatched[row];
      const CollectiveCall& call = call_of(unmatched);
      const CallSpan span{call.start, call.duration_ns};
      const std::optional<int64_t> wait = lone_wait_ns(unmatched, arrivals);
      d_.unmatched[row] = wait ? split_parts(span, *wait, near) : unsplit_parts(span, near);
    });
    LocalNs first{INT64_MAX}, last{INT64_MIN};
    const auto add = [&](LocalNs start, const CallParts& parts) {
      add_edges(start, parts, edges);
      first = std::min(first, start);
      last = std::max(last, start + parts.duration_ns());
    };
    for (const uint32_t row : rows.members) add(table_.spans[row].start, d_.members[row]);
    for (const uint32_t u : rows.unmatched) add(call_of(table_.unmatched[u]).start, d_.unmatched[u]);
    const StepLabels exposures(std::move(edges), busy);
    tbb::parallel_invoke([&] { label_steps_of(t, spans, exposures, rows); },
                         [&] { exposed_[t.index()] = exposures.between(first, last); },
                         [&] { classes_[t.index()] = classes_of(t, rows, busy); });
  }

  std::vector<ClassTotals> classes_of(TraceIndex t, const TraceRows& rows, const BusyIntervals& busy) const {
    std::vector<ClassedCall> calls;
    calls.reserve(rows.members.size() + rows.unmatched.size());
    for (const uint32_t row : rows.members) {
      const CollectiveInstance& i = table_.instances[waits_.instance_of_row[row]];
      const CollectiveCall& call = job_[t].calls[static_cast<size_t>(table_.members[row].call)];
      calls.push_back({class_of(i, call, d_.group_kinds), call.gpu_row >= 0, call.start, d_.members[row]});
    }
    for (const uint32_t u : rows.unmatched) {
      const CollectiveCall& call = call_of(table_.unmatched[u]);
      calls.push_back(
          {class_of(call, table_.communicators, d_.group_kinds), call.gpu_row >= 0, call.start, d_.unmatched[u]});
    }
    return class_totals(std::move(calls), busy);
  }

  static void label_steps_of(TraceIndex t, const std::vector<StepSpan>& spans, const StepLabels& labels,
                             TraceRows& rows) {
    std::vector<const StepSpan*> steps;
    for (const StepSpan& span : spans) {
      if (span.place == StepPlace::step) steps.push_back(&span);
    }
    rows.steps.resize(steps.size());
    tbb::parallel_for(size_t{0}, steps.size(), [&](size_t i) { rows.steps[i] = labels.step(t, *steps[i]); });
    rows.rests = labels.rests(t, spans);
  }

  // Sends to all what each process found of its own traces.
  void lay_out_steps(std::vector<TraceRows>& rows) {
    for (TraceRows& own : rows) {
      d_.trace_steps.insert(d_.trace_steps.end(), own.steps.begin(), own.steps.end());
      d_.trace_rests.insert(d_.trace_rests.end(), own.rests.begin(), own.rests.end());
      own = TraceRows();
    }
    d_.trace_steps = all_rows(exchange_, std::move(d_.trace_steps));
    d_.trace_rests = all_rows(exchange_, std::move(d_.trace_rests));
    std::sort(d_.trace_rests.begin(), d_.trace_rests.end(), [](const TraceRest& a, const TraceRest& b) {
      return std::tie(a.trace, a.place) < std::tie(b.trace, b.place);
    });
    d_.steps = steps_of(job_, clocks_, d_.trace_steps);
    d_.island_steps = steps_of_islands(job_, clocks_, d_.trace_steps);
  }

  const JobTrace& job_;
  const InstanceTable& table_;
  const ClockModel& clocks_;
  const InstanceWaits& waits_;
  Exchange& exchange_;
  Decomposition& d_;
  std::vector<StepParts> exposed_;                 // per trace, from its first call to the end of its last one
  std::vector<std::vector<ClassTotals>> classes_;  // per trace
};

}  // namespace

std::vector<StepParts> label_calls(const JobTrace& job, const InstanceTable& table, const ClockModel& clocks,
                                   const InstanceWaits& waits, Exchange& exchange, Decomposition& d) {
  return Labeller(job, table, clocks, waits, exchange, d).label_all();
}

}  // namespace skewscope::attribute
