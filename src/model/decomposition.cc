#include "skewscope/model/decomposition.h"

#include <algorithm>

namespace skewscope {
namespace {

std::string check_parts(const CallParts& parts, int64_t duration_ns) {
  if (parts.wait_ns < 0 || parts.transfer_ns < 0 || parts.unattributed_ns < 0) return "a part is negative";
  if (parts.exposed_wait_ns < 0 || parts.exposed_wait_ns > parts.wait_ns || parts.exposed_transfer_ns < 0 ||
      parts.exposed_transfer_ns > parts.transfer_ns || parts.exposed_unattributed_ns < 0 ||
      parts.exposed_unattributed_ns > parts.unattributed_ns) {
    return "an exposed part is not within its part";
  }
  if (parts.wait_ns + parts.transfer_ns + parts.unattributed_ns != duration_ns) {
    return "parts do not sum to the call's duration";
  }
  return "";
}

// What the calls of a trace say of its totals.
struct Bounds {
  CallParts sum;
  int64_t longest_exposed_ns = 0, longest_exposed_transfer_ns = 0;  // of one call

  void add(const CallParts& parts) {
    sum += parts;
    longest_exposed_ns = std::max(longest_exposed_ns, parts.exposed_ns());
    longest_exposed_transfer_ns = std::max(longest_exposed_transfer_ns, parts.exposed_transfer_ns);
  }
};

// Exposed, calls that overlap count once, as transfer before all else: no less than one call, no more than all.
bool within_bounds(const CallParts& totals, const Bounds& bounds) {
  const CallParts& sum = bounds.sum;
  if (totals.exposed_ns() < bounds.longest_exposed_ns) return false;
  if (totals.exposed_transfer_ns < bounds.longest_exposed_transfer_ns) return false;
  return totals.wait_ns == sum.wait_ns && totals.transfer_ns == sum.transfer_ns &&
         totals.unattributed_ns == sum.unattributed_ns && totals.exposed_wait_ns <= sum.exposed_wait_ns &&
         totals.exposed_transfer_ns <= sum.exposed_transfer_ns &&
         totals.exposed_unattributed_ns <= sum.exposed_unattributed_ns;
}

const CollectiveCall& call_of(CallRef ref, const JobTrace& job) {
  return job[ref.trace].calls[static_cast<size_t>(ref.call)];
}

std::string check_totals(const Decomposition& d, const std::vector<Bounds>& bounds, const JobTrace& job) {
  for (size_t i = 0; i < d.traces.size(); ++i) {
    const TraceTotals& totals = d.traces[i];
    const std::string where = "totals of trace " + std::to_string(i);
    if (!job.holds(TraceIndex(static_cast<int64_t>(i)))) continue;
    if (totals.collectives != static_cast<int64_t>(job.traces[i].calls.size())) return where + ": calls are missing";
    if (!within_bounds(totals.parts, bounds[i])) return where + " are not those of its calls";
    if (totals.late_count < 0 || totals.late_count > totals.late_candidates) return where + ": late count out of range";
    if (totals.delay_caused_ns < 0) return where + ": negative delay";
  }
  return "";
}

std::string check_classes(const Decomposition& d) {
  CallParts of_traces, of_classes;
  for (const TraceTotals& totals : d.traces) of_traces += totals.parts;
  for (const ClassTotals& totals : d.classes) {
    of_classes += totals.parts;
    if (totals.hidden_ns < 0 || totals.hidden_ns + totals.parts.exposed_ns() > totals.parts.duration_ns()) {
      return "a class of calls has more hidden and exposed time than time";
    }
  }
  return of_classes == of_traces ? "" : "classes of calls do not sum to the traces";
}

}  // namespace

const char* to_string(SplitReason reason) {
  switch (reason) {
    case SplitReason::split:
      return "split";
    case SplitReason::unmatched:
      return "unmatched";
    case SplitReason::unconnected:
      return "unconnected";
    case SplitReason::semantics:
      return "semantics";
    case SplitReason::causality:
      return "causality";
  }
  return "semantics";
}

const char* to_string(SplitBasis basis) { return basis == SplitBasis::clocks ? "clocks" : "durations"; }

const char* to_string(SplitNote note) {
  switch (note) {
    case SplitNote::none:
      return "";
    case SplitNote::incomplete:
      return "incomplete";
    case SplitNote::extrapolated:
      return "extrapolated";
    case SplitNote::inconclusive:
      return "inconclusive";
  }
  return "";
}

std::string check_invariants(const Decomposition& d, const InstanceTable& table, const JobTrace& job) {
  if (d.members.size() != table.members.size() || d.caused_ns.size() != table.members.size() ||
      d.instances.size() != table.instances.size() || d.unmatched.size() != table.unmatched.size() ||
      d.traces.size() != job.traces.size()) {
    return "tables differ in length";
  }
  std::vector<Bounds> bounds(job.traces.size());
  for (size_t i = 0; i < d.members.size(); ++i) {
    const std::string broken = check_parts(d.members[i], table.spans[i].duration_ns);
    if (!broken.empty()) return "member " + std::to_string(i) + ": " + broken;
    if (d.caused_ns[i] < 0) return "member " + std::to_string(i) + ": negative delay caused";
    bounds[table.members[i].trace.index()].add(d.members[i]);
  }
  for (size_t i = 0; i < d.unmatched.size(); ++i) {
    const CallRef ref = table.unmatched[i].call;
    if (!job.holds(ref.trace)) continue;
    const std::string broken = check_parts(d.unmatched[i], call_of(ref, job).duration_ns);
    if (!broken.empty()) return "unmatched row " + std::to_string(i) + ": " + broken;
    bounds[ref.trace.index()].add(d.unmatched[i]);
  }
  for (size_t i = 0; i < d.instances.size(); ++i) {
    const InstanceTiming& timing = d.instances[i];
    if (timing.start_skew_ns < 0 || timing.end_skew_ns < 0 || timing.shortest_ns < 0 || timing.transfer_ns < 0) {
      return "instance " + std::to_string(i) + ": negative time";
    }
  }
  if (std::string broken = check_totals(d, bounds, job); !broken.empty()) return broken;
  return check_classes(d);
}

}  // namespace skewscope
