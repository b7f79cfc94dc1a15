#include "propagate.h"

#include <tbb/parallel_for.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "collectives/synchronization.h"
#include "kernel_uses.h"
#include "window_kernels.h"

namespace skewscope::blame {
namespace {

constexpr size_t kMostWaits = 128;  // of a member, that blame moves to at once
constexpr size_t kBlock = 64;       // waits that are looked over as one

// The calls of a trace that waited with nothing running at the same time.
struct WaitingCalls {
  std::vector<int32_t> calls;
  // Made when they are asked for.
  std::vector<int64_t> before_ns;   // per call, and the end: the waits before it
  std::vector<int64_t> longest_ns;  // per block of calls
};

struct Pass {
  const ReplayPlan& plan;
  const JobView& view;
  const MemberBooks& books;
  Blame& blame;
  std::vector<size_t> order;          // instances, latest arrival first
  std::vector<size_t> place_of;       // in `order`, by instance
  std::vector<int64_t> charged;       // per member row: the direct charge and what moved here
  std::vector<int64_t> pending;       // per member row: what moved to the waits of this member
  std::vector<WaitingCalls> waiting;  // per trace
  std::map<std::tuple<TraceIndex, CommunicatorId, CommunicatorId>, int64_t> flows;

  void settle(size_t id);
  void hand_on(size_t id, const std::vector<size_t>& arrivals);
  void hand_on_to_partners(const std::vector<size_t>& rows);
  void split(size_t id, const MembersByArrival& members, size_t k);
  int64_t move_to_waits(size_t id, size_t row, int64_t ns);
  void keep(size_t row, const Lateness& lateness, int64_t ns);
};

// How much of the waits in each gap falls to each member: those still awaited share it equally.
std::vector<double> shares_of_awaited(const Pass& pass, const std::vector<size_t>& arrivals) {
  std::vector<double> rate(arrivals.size(), 0);
  const auto start = [&](size_t place) { return static_cast<double>(pass.view.start(arrivals[place]).ns); };
  const size_t last = arrivals.size() - 1;
  std::vector<double> shares(arrivals.size(), 0);
  double waiting = 0, each = 0;
  for (size_t g = 0; g < arrivals.size(); ++g) {
    if (g > 0) each += waiting * (start(g) - start(g - 1)) / static_cast<double>(arrivals.size() - g);
    shares[g] = each;
    const double wait = start(last) - start(g);
    if (pass.pending[arrivals[g]] > 0 && wait > 0) waiting += static_cast<double>(pass.pending[arrivals[g]]) / wait;
  }
  return shares;
}

// In a batch each waiter hands on to its own partners: to those still awaited, in equal parts.
void Pass::hand_on_to_partners(const std::vector<size_t>& rows) {
  for (const size_t row : rows) {
    if (pending[row] == 0) continue;
    std::vector<size_t> later;
    for (const uint32_t partner : plan.awaited.of(row)) {
      if (view.start(partner) > view.start(row)) later.push_back(partner);
    }
    std::sort(later.begin(), later.end(), [&](size_t a, size_t b) { return view.start(a) < view.start(b); });
    std::vector<double> shares(later.size(), 0);
    double each = 0;
    JobNs from = view.start(row);
    for (size_t k = 0; k < later.size(); ++k) {
      each += static_cast<double>(view.start(later[k]) - from) / static_cast<double>(later.size() - k);
      shares[k] = each;
      from = view.start(later[k]);
    }
    if (later.empty()) {
      charged[row] += pending[row];
      continue;
    }
    const std::vector<int64_t> parts = apportion(pending[row], shares);
    for (size_t k = 0; k < later.size(); ++k) charged[later[k]] += parts[k];
  }
}

// Blame that was moved to members' waits goes to those they waited for.
void Pass::hand_on(size_t id, const std::vector<size_t>& arrivals) {
  int64_t total = 0;
  for (const size_t row : arrivals) total += pending[row];
  if (total == 0) return;
  if (view.instance(id).kind == CollectiveKind::coalesced) return hand_on_to_partners(arrivals);
  std::vector<double> shares(arrivals.size(), 0);
  if (dependency_of(view.instance(id).kind) == Dependency::everyone) {
    shares = shares_of_awaited(*this, arrivals);
  } else {
    for (size_t k = 0; k < arrivals.size(); ++k) shares[k] = static_cast<double>(view.d.caused_ns[arrivals[k]]);
  }
  const bool nobody = std::all_of(shares.begin(), shares.end(), [](double share) { return share <= 0; });
  if (nobody) {
    for (const size_t row : arrivals) charged[row] += pending[row];
    return;
  }
  const std::vector<int64_t> parts = apportion(total, shares);
  for (size_t k = 0; k < arrivals.size(); ++k) charged[arrivals[k]] += parts[k];
}

std::vector<WaitingCalls> waiting_calls(const JobView& view) {
  std::vector<WaitingCalls> waiting(view.job.traces.size());
  for (size_t t = 0; t < waiting.size(); ++t) {
    const std::vector<int32_t>& rows = view.row_of_call[t];
    for (size_t c = 0; c < rows.size(); ++c) {
      const bool waited = rows[c] >= 0 && view.d.members[static_cast<size_t>(rows[c])].exposed_wait_ns > 0;
      if (waited) waiting[t].calls.push_back(static_cast<int32_t>(c));
    }
  }
  return waiting;
}

void sum_up(const JobView& view, const std::vector<int32_t>& row_of_call, WaitingCalls& waiting) {
  waiting.before_ns.push_back(0);
  for (size_t k = 0; k < waiting.calls.size(); ++k) {
    const auto row = static_cast<size_t>(row_of_call[static_cast<size_t>(waiting.calls[k])]);
    const int64_t wait_ns = view.d.members[row].exposed_wait_ns;
    waiting.before_ns.push_back(waiting.before_ns.back() + wait_ns);
    if (k % kBlock == 0) waiting.longest_ns.push_back(0);
    waiting.longest_ns.back() = std::max(waiting.longest_ns.back(), wait_ns);
  }
}

// The few that hold most of the time of the waits from `first` to before `end`; none where no few do. Cost: a look at
// each block.
std::vector<size_t> long_waits(const WaitingCalls& waiting, size_t first, size_t end) {
  const int64_t all_ns = waiting.before_ns[end] - waiting.before_ns[first];
  const int64_t least_ns = all_ns / static_cast<int64_t>(kMostWaits) + 1;  // at most so many are as long
  std::vector<size_t> found;
  int64_t found_ns = 0;
  for (size_t k = first; k < end;) {
    if (waiting.longest_ns[k / kBlock] < least_ns) {
      k = (k / kBlock + 1) * kBlock;
      continue;
    }
    const int64_t wait_ns = waiting.before_ns[k + 1] - waiting.before_ns[k];
    if (wait_ns >= least_ns) {
      found.push_back(k);
      found_ns += wait_ns;
    }
    ++k;
  }
  return 2 * found_ns >= all_ns ? found : std::vector<size_t>();
}

// Moves up to `ns` to the collectives in which the member waited since; returns what was moved. Where these are very
// many, to the long ones among them, or to the latest.
int64_t Pass::move_to_waits(size_t id, size_t row, int64_t ns) {
  const Span span = span_of(plan, books, row);
  const CallRef& ref = view.ref(row);
  const RankTrace& trace = view.job[ref.trace];
  const std::vector<int32_t>& row_of_call = view.row_of_call[ref.trace.index()];
  WaitingCalls& own = waiting[ref.trace.index()];
  std::vector<size_t> rows;
  std::vector<double> waits;
  const auto take = [&](size_t k) {
    const auto other = static_cast<size_t>(row_of_call[static_cast<size_t>(own.calls[k])]);
    const size_t place = place_of[static_cast<size_t>(view.instance_of_row[other])];
    if (view.span(other).end() > span.to || place <= place_of[id]) return;
    rows.push_back(other);
    waits.push_back(static_cast<double>(view.d.members[other].exposed_wait_ns));
  };
  const auto start_of = [&](int32_t call) { return trace.calls[static_cast<size_t>(call)].start; };
  const auto call_here = std::lower_bound(own.calls.begin(), own.calls.end(), ref.call);
  const auto call_first = std::lower_bound(own.calls.begin(), call_here, span.from,
                                           [&](int32_t call, LocalNs from) { return start_of(call) < from; });
  const auto first = static_cast<size_t>(call_first - own.calls.begin());
  const auto end = static_cast<size_t>(call_here - own.calls.begin());
  if (end - first > kMostWaits) {
    if (own.before_ns.empty()) sum_up(view, row_of_call, own);
    for (const size_t k : long_waits(own, first, end)) take(k);
  }
  if (rows.empty()) {
    for (size_t k = end; k > first && rows.size() < kMostWaits; --k) take(k - 1);
  }
  if (rows.empty()) return 0;
  const std::vector<int64_t> parts = apportion(ns, waits);
  for (size_t k = 0; k < rows.size(); ++k) {
    pending[rows[k]] += parts[k];
    const auto earlier = static_cast<size_t>(view.instance_of_row[rows[k]]);
    flows[{ref.trace, view.instance(id).communicator, view.instance(earlier).communicator}] += parts[k];
  }
  return ns;
}

// What stays with the member, by what made it later than a rank of the same program; what such a rank spends, too, is
// the program's. Waiting elsewhere counts only where nothing else does.
void Pass::keep(size_t row, const Lateness& lateness, int64_t ns) {
  constexpr LateCause kCauses[kLabels] = {LateCause::slower_kernels,
                                          LateCause::copies,
                                          LateCause::transfer_elsewhere,
                                          LateCause::wait_elsewhere,
                                          LateCause::unknown,
                                          LateCause::host,
                                          LateCause::idle};
  if (!lateness.booked) {
    blame.traces[view.ref(row).trace.index()].origin_by_cause[static_cast<size_t>(LateCause::unknown)] += ns;
    return;
  }
  const size_t other = compared_with(plan, books, row, lateness);
  const auto waited = static_cast<double>(lateness.by_label[static_cast<size_t>(Label::waiting)]);
  double program = static_cast<double>(lateness.ns) - std::max(0.0, waited);
  const LabelTimes longer = times_of(plan, books, row) - times_of(plan, books, other);
  std::vector<double> weights(kLabels + 1, 0);
  for (size_t i = 0; i < kLabels; ++i) {
    if (kCauses[i] == LateCause::wait_elsewhere) continue;
    weights[i] = std::max<double>(0, static_cast<double>(longer[i]));
    program -= weights[i];
  }
  if (other != lateness.peer) weights[kLabels] = std::max(0.0, program);
  if (std::all_of(weights.begin(), weights.end(), [](double w) { return w <= 0; })) {
    weights[static_cast<size_t>(Label::waiting)] = 1;
  }
  const bool blind = plan.line_of(row).blind;
  const std::vector<int64_t> parts = apportion(ns, weights);
  CauseBook& book = blame.traces[view.ref(row).trace.index()].origin_by_cause;
  for (size_t i = 0; i < kLabels; ++i) {
    const bool local = kCauses[i] == LateCause::host || kCauses[i] == LateCause::idle;
    book[static_cast<size_t>(blind && local ? LateCause::unknown : kCauses[i])] += parts[i];
  }
  book[static_cast<size_t>(LateCause::program)] += parts[kLabels];
}

void Pass::split(size_t id, const MembersByArrival& members, size_t k) {
  const size_t row = members.rows()[k];
  const int64_t ns = charged[row];
  TraceBlame& own = blame.traces[view.ref(row).trace.index()];
  const std::optional<Lateness> lateness = lateness_of(plan, books, members, k);
  if (!lateness) {
    own.origin_by_cause[static_cast<size_t>(LateCause::unknown)] += ns;
    return;
  }
  const auto waited = static_cast<double>(lateness->by_label[static_cast<size_t>(Label::waiting)]);
  const double share = std::clamp(waited / static_cast<double>(lateness->ns), 0.0, 1.0);
  const int64_t movable = std::llround(static_cast<double>(ns) * share);
  const int64_t moved = movable > 0 ? move_to_waits(id, row, movable) : 0;
  if (ns > moved) keep(row, *lateness, ns - moved);
}

void Pass::settle(size_t id) {
  if (view.d.instances[id].reason != SplitReason::split) return;
  const MembersByArrival members(plan, id);
  hand_on(id, members.rows());
  for (size_t k = 0; k < members.rows().size(); ++k) {
    if (charged[members.rows()[k]] > 0) split(id, members, k);
  }
}

void move_back(const ReplayPlan& plan, const MemberBooks& books, Blame& blame) {
  const JobView& view = plan.view;
  const size_t instances = view.table.instances.size();
  Pass pass{.plan = plan,
            .view = view,
            .books = books,
            .blame = blame,
            .order = std::vector<size_t>(instances),
            .place_of = std::vector<size_t>(instances),
            .charged = view.d.caused_ns,
            .pending = std::vector<int64_t>(view.table.members.size(), 0),
            .waiting = waiting_calls(view),
            .flows = {}};
  for (size_t id = 0; id < instances; ++id) pass.order[id] = id;
  std::stable_sort(pass.order.begin(), pass.order.end(), [&](size_t a, size_t b) {
    return view.d.instances[a].last_arrival > view.d.instances[b].last_arrival;
  });
  for (size_t place = 0; place < instances; ++place) pass.place_of[pass.order[place]] = place;
  for (const size_t id : pass.order) pass.settle(id);
  for (const auto& [way, ns] : pass.flows) {
    blame.flows.push_back({std::get<0>(way), std::get<1>(way), std::get<2>(way), ns});
  }
}

// By how much the last member of an instance was later than another.
struct LastMember {
  size_t row = 0;
  std::optional<Lateness> lateness;
};

LastMember last_member(const ReplayPlan& plan, const MemberBooks& books, size_t id) {
  const JobView& view = plan.view;
  const MembersByArrival members(plan, id);
  const std::vector<size_t>& rows = members.rows();
  const auto last =
      std::find_if(rows.begin(), rows.end(), [&](size_t r) { return view.ref(r).trace == view.d.instances[id].last; });
  return {*last, lateness_of(plan, books, members, static_cast<size_t>(last - rows.begin()))};
}

// Books of the instances that a trace was last in: `ids`, some at a time, so that what is sent of kernels stays small.
void add_lateness(const ReplayPlan& plan, const MemberBooks& books, const std::vector<size_t>& ids, Exchange& exchange,
                  Comparisons& compared, Blame& blame) {
  const JobView& view = plan.view;
  std::vector<LastMember> last(exchange.first() ? ids.size() : 0);
  tbb::parallel_for(size_t{0}, last.size(), [&](size_t k) { last[k] = last_member(plan, books, ids[k]); });
  std::erase_if(last, [](const LastMember& member) { return !member.lateness; });
  const auto kernels_of = [&](size_t row) {
    const Span span = span_of(plan, books, row);
    return KernelSpan{view.ref(row).trace, span.from, span.fork};
  };
  std::vector<std::array<KernelSpan, 2>> pairs;  // the last, and whom it is compared with
  for (const LastMember& member : last) {
    pairs.push_back({kernels_of(member.row), kernels_of(compared_with(plan, books, member.row, *member.lateness))});
  }
  const auto uses = kernel_uses(view.job, std::move(pairs), exchange);
  for (size_t k = 0; k < last.size(); ++k) {
    const int64_t other_kernels_ns = surplus_ns(uses[k][0], uses[k][1]);
    const CauseBook book = cause_book(plan, books, last[k].row, *last[k].lateness, other_kernels_ns);
    CauseBook& sum = blame.traces[view.ref(last[k].row).trace.index()].lateness_by_cause;
    for (size_t i = 0; i < kLateCauses; ++i) sum[i] += book[i];
    const size_t other = compared_with(plan, books, last[k].row, *last[k].lateness);
    Comparison& comparison = compared[view.ref(last[k].row).trace];
    comparison.peers[view.ref(other).trace] += last[k].lateness->ns;
    const auto computing = [&](LateCause cause) { return book[static_cast<size_t>(cause)]; };
    comparison.computing[view.instance(static_cast<size_t>(view.instance_of_row[last[k].row])).communicator] +=
        computing(LateCause::slower_kernels) + computing(LateCause::other_kernels);
  }
}

Comparisons add_lateness(const ReplayPlan& plan, const MemberBooks& books, Exchange& exchange, Blame& blame) {
  Comparisons compared;
  constexpr size_t kAtOnce = 8'192;
  std::vector<size_t> ids;
  const size_t instances = plan.view.table.instances.size();
  for (size_t id = 0; id < instances; ++id) {
    if (plan.view.d.instances[id].last.known()) ids.push_back(id);
    if (ids.size() < kAtOnce && id + 1 < instances) continue;
    add_lateness(plan, books, ids, exchange, compared, blame);
    ids.clear();
  }
  return compared;
}

// Computing was kept as one; it is divided as in the instances the trace was last in.
void divide_computing(TraceBlame& own) {
  int64_t& slower = own.origin_by_cause[static_cast<size_t>(LateCause::slower_kernels)];
  const auto of = [&](LateCause cause) {
    return std::max<double>(0, static_cast<double>(own.lateness_by_cause[static_cast<size_t>(cause)]));
  };
  const std::vector<double> weights = {of(LateCause::slower_kernels), of(LateCause::other_kernels),
                                       of(LateCause::other_shapes)};
  if (weights[0] + weights[1] + weights[2] <= 0) return;
  const std::vector<int64_t> parts = apportion(slower, weights);
  slower = parts[0];
  own.origin_by_cause[static_cast<size_t>(LateCause::other_kernels)] = parts[1];
  own.origin_by_cause[static_cast<size_t>(LateCause::other_shapes)] = parts[2];
}

}  // namespace

void propagate(const ReplayPlan& plan, const MemberBooks& books, Exchange& exchange, Blame& blame) {
  tbb::task_group moving;  // next to this thread, the one that may talk to other processes
  if (exchange.first()) moving.run([&] { move_back(plan, books, blame); });
  const Comparisons compared = add_lateness(plan, books, exchange, blame);
  moving.wait();
  correct_computing(plan, compared, exchange, blame);
  if (exchange.first()) tell_shapes(plan, compared, blame);
  for (size_t t = 0; t < blame.traces.size(); ++t) {
    TraceBlame& own = blame.traces[t];
    divide_computing(own);
    own.direct_ns = plan.view.d.traces[t].delay_caused_ns;
    for (const int64_t ns : own.origin_by_cause) own.origin_ns += ns;
  }
}

}  // namespace skewscope::blame
