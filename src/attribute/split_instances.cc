#include "split_instances.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "collectives/open_end.h"
#include "split_call.h"
#include "wait_bar.h"

namespace skewscope::attribute {
namespace {

class Splitter {
 public:
  Splitter(const InstanceTable& table, const ClockModel& clocks, Exchange& exchange)
      : table_(table), clocks_(clocks), exchange_(exchange) {
    waits_.instances.resize(table.instances.size());
    waits_.wait_ns.resize(table.members.size());
    waits_.caused_ns.resize(table.members.size());
    for (size_t id = 0; id < table.instances.size(); ++id) {
      waits_.instance_of_row.insert(waits_.instance_of_row.end(), table.instances[id].member_count,
                                    static_cast<uint32_t>(id));
    }
  }

  InstanceWaits split_all() {
    tbb::parallel_for(size_t{0}, table_.instances.size(), [&](size_t id) {
      if (owner_of(id) == exchange_.process()) split(id);
    });
    const auto owner_of_row = [&](size_t row) { return owner_of(waits_.instance_of_row[row]); };
    share(
        exchange_, [&](size_t id) { return owner_of(id); }, waits_.instances);
    share(exchange_, owner_of_row, waits_.wait_ns);
    share(exchange_, owner_of_row, waits_.caused_ns);
    return std::move(waits_);
  }

 private:
  // Blocks with equally many members.
  int32_t owner_of(size_t id) const {
    const auto processes = static_cast<uint64_t>(exchange_.processes());
    return static_cast<int32_t>(table_.instances[id].first_member * processes / table_.members.size());
  }

  bool one_clock(const CollectiveInstance& i) const {
    const int32_t component = clocks_.clocks[table_.members[i.first_member].trace.index()].component;
    for (uint32_t k = 0; k < i.member_count; ++k) {
      if (clocks_.clocks[table_.members[i.first_member + k].trace.index()].component != component) return false;
    }
    return component >= 0;
  }

  // Whether it is not recorded when a member's call ran.
  bool durations_only(const CollectiveInstance& i) const {
    const auto first = table_.members.begin() + i.first_member;
    return std::any_of(first, first + i.member_count, [&](const CallRef& member) {
      return clocks_.clocks[member.trace.index()].method == ClockMethod::durations;
    });
  }

  // The largest uncertainty of a member's clock; -1: unknown.
  int64_t member_bar_ns(const CollectiveInstance& i) const {
    int64_t bar = -1;
    for (uint32_t k = 0; k < i.member_count; ++k) {
      bar = std::max(bar, clocks_.clocks[table_.members[i.first_member + k].trace.index()].uncertainty_ns);
    }
    return bar;
  }

  bool extrapolated(const CollectiveInstance& i) const {
    for (uint32_t k = 0; k < i.member_count; ++k) {
      const TraceClock& clock = clocks_.clocks[table_.members[i.first_member + k].trace.index()];
      const CallSpan& call = table_.spans[i.first_member + k];
      if (call.start < clock.tied_from || call.end() > clock.tied_to) return true;
    }
    return false;
  }

  // Whether the end of a member's call was not recorded: its own wait is not known, and the sum of all is a bound.
  bool any_open_end(const CollectiveInstance& i) const {
    const auto first = table_.spans.begin() + i.first_member;
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
      const CallSpan& call = table_.spans[i.first_member + k];
      const TraceIndex trace = table_.members[i.first_member + k].trace;
      const JobNs start = clocks_.to_job(trace, call.start);
      arrivals.push_back({start.ns, std::max<int64_t>(0, clocks_.to_job(trace, call.end()) - start)});
    }
    return arrivals;
  }

  // Waits were found on the common clock; the parts of a call are on its own.
  void to_own_clocks(const CollectiveInstance& i, const std::vector<Arrival>& arrivals, InstanceSplit& parts) const {
    for (uint32_t k = 0; k < i.member_count; ++k) {
      const int64_t own_ns = table_.spans[i.first_member + k].duration_ns, common_ns = arrivals[k].duration_ns;
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
      const int64_t duration_ns = table_.spans[i.first_member + k].duration_ns;
      if (!lacks_end(duration_ns)) shortest = std::min(shortest, duration_ns - parts.wait_ns[k]);
    }
    return shortest < INT64_MAX ? shortest : 0;
  }

  // Who waits for whom; none where no messages are.
  std::vector<Awaited> awaited_in(const CollectiveInstance& i, const std::vector<Arrival>& arrivals) const {
    std::vector<BatchEnd> ends;
    if (i.kind == CollectiveKind::send && i.special >= 0 && i.member_count == 2) {
      const auto sender = static_cast<size_t>(i.special);
      ends = {{sender, 1 - sender, false}, {1 - sender, sender, true}};
    } else if (i.kind == CollectiveKind::coalesced) {
      for (uint32_t k = 0; k < i.member_count; ++k) {
        for (const BatchLink& link : links_of(table_, i.first_member + k)) {
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
    const bool by_durations = durations_only(i);
    if (!by_durations && !one_clock(i)) return std::nullopt;
    const Dependency dependency = dependency_of(i.kind);
    if (by_durations && dependency != Dependency::everyone) return std::nullopt;  // ends tell nothing there
    const std::vector<Awaited> awaited = awaited_in(i, arrivals);
    const bool broken =
        dependency == Dependency::everyone ? breaks_causality(bar, arrivals) : breaks_causality(bar, arrivals, awaited);
    if (broken) {
      timing.reason = SplitReason::causality;
      return std::nullopt;
    }
    timing.basis = bar.basis();
    if (timing.basis == SplitBasis::durations) arrivals = arrivals_by_duration(arrivals);
    const std::optional<size_t> special = i.special < 0 ? std::nullopt : std::optional<size_t>(i.special);
    std::optional<InstanceSplit> parts = split_instance(dependency, arrivals, special, awaited);
    timing.reason = parts ? SplitReason::split : SplitReason::semantics;
    if (parts) to_own_clocks(i, arrivals, *parts);
    return parts;
  }

  void split(size_t id) {
    const CollectiveInstance& i = table_.instances[id];
    InstanceTiming& timing = waits_.instances[id];
    const bool by_durations = durations_only(i);
    const std::vector<Arrival> arrivals = by_durations ? arrivals_by_duration(arrivals_of(i)) : arrivals_of(i);
    measure(arrivals, timing);
    WaitBar bar = by_durations ? wait_bar_of_durations(i) : wait_bar(clocks_, i, member_bar_ns(i));
    if (any_open_end(i)) bar.durations_ns = -1;
    const std::optional<InstanceSplit> parts = decide(i, bar, arrivals, timing);
    if (!parts) return;
    std::copy(parts->wait_ns.begin(), parts->wait_ns.end(), waits_.wait_ns.begin() + i.first_member);
    std::copy(parts->caused_ns.begin(), parts->caused_ns.end(), waits_.caused_ns.begin() + i.first_member);
    timing.wait_bar_ns = bar.ns();
    timing.contradicted = contradicts(bar, arrivals);
    if (timing.basis == SplitBasis::durations) {
      const size_t last = i.first_member + parts->last;
      timing.last_arrival = clocks_.to_job(table_.members[last].trace, table_.spans[last].start);
    } else {
      timing.last_arrival = JobNs{parts->last_arrival_ns};
    }
    const Dependency dependency = dependency_of(i.kind);
    // A member of a rooted call may come when the bytes are there already.
    if (dependency == Dependency::everyone || dependency == Dependency::partners) {
      timing.transfer_ns = shortest_transfer_ns(i, *parts);
    }
    timing.note = note_of(i, timing, *parts);
    const int64_t tie_ns = std::max<int64_t>(0, timing.wait_bar_ns);
    if (i.complete && parts->lead_ns > tie_ns) timing.last = table_.members[i.first_member + parts->last].trace;
  }

  const InstanceTable& table_;
  const ClockModel& clocks_;
  Exchange& exchange_;
  InstanceWaits waits_;
};

}  // namespace

InstanceWaits split_instances(const InstanceTable& table, const ClockModel& clocks, Exchange& exchange) {
  return Splitter(table, clocks, exchange).split_all();
}

}  // namespace skewscope::attribute
