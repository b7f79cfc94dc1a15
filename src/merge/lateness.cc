#include "lateness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "component_numbers.h"

namespace skewscope::merge {
namespace {

constexpr int64_t kLeastMargin_ns = 1'000'000;
constexpr const char* kWorstWait = "worst-wait";

struct View {
  const CorrelatedJob& rooms;
  const CollectiveInstance& instance;

  int32_t row(uint32_t m) const { return static_cast<int32_t>(instance.first_member + m); }
  const CallRef& ref(int32_t row) const { return rooms.instances.members[static_cast<size_t>(row)]; }
  const CallParts& parts(int32_t row) const { return rooms.decomposition.members[static_cast<size_t>(row)]; }
  JobSpan span(int32_t row) const {
    const CallRef& call = ref(row);
    return span_of(rooms, call.trace, rooms.job[call.trace].calls[static_cast<size_t>(call.call)]);
  }
};

// The partner of a batch whose start is nearest to the release.
int32_t released_by_partner(const View& view, int32_t row, JobNs release) {
  int32_t nearest = row;
  int64_t least = INT64_MAX;
  for (const BatchLink& link : links_of(view.rooms.instances, static_cast<uint32_t>(row))) {
    const auto partner = static_cast<int32_t>(link.partner);
    const int64_t distance = std::llabs(view.span(partner).start - release);
    if (distance >= least) continue;
    least = distance;
    nearest = partner;
  }
  return nearest;
}

// The first of those that fit.
int32_t released_by(const View& view, JobNs release) {
  int32_t last = view.row(0);
  for (uint32_t m = 0; m < view.instance.member_count; ++m) {
    const JobNs start = view.span(view.row(m)).start;
    if (start == release) return view.row(m);
    if (start > view.span(last).start) last = view.row(m);
  }
  return last;
}

void add_late(const View& view, int32_t number, Lateness& lateness) {
  std::vector<Late> found;
  for (uint32_t m = 0; m < view.instance.member_count; ++m) {
    const int32_t row = view.row(m);
    if (view.parts(row).wait_ns == 0) continue;
    const JobNs start = view.span(row).start;
    const JobNs release = start + view.parts(row).wait_ns;
    const bool batches = view.instance.kind == CollectiveKind::coalesced;
    const int32_t by = batches ? released_by_partner(view, row, release) : released_by(view, release);
    auto late = std::find_if(found.begin(), found.end(), [&](const Late& l) { return l.member == by; });
    if (late == found.end()) late = found.insert(found.end(), {number, start, view.span(by).start, by, {}});
    late->from = std::min(late->from, start);
    late->released.push_back(row);
    lateness.released_by[static_cast<size_t>(row)] = by;
  }
  for (Late& late : found) lateness.late[view.ref(late.member).trace.index()].push_back(std::move(late));
}

int64_t longest_wait(const View& view, const Selection& selection) {
  int64_t longest = 0;
  for (uint32_t m = 0; m < view.instance.member_count; ++m) {
    if (!selection.has_call(view.ref(view.row(m)))) continue;
    longest = std::max(longest, view.parts(view.row(m)).wait_ns);
  }
  return longest;
}

MergeWindow window_of(const View& view, JobNs first, size_t number) {
  JobNs last = first;
  for (uint32_t m = 0; m < view.instance.member_count; ++m) last = std::max(last, view.span(view.row(m)).end);
  MergeWindow window;
  window.from = first;
  window.to = last;
  window.finding = kWorstWait;
  window.words = fmt::format("instance {}: {}", number, to_string(view.instance.kind));
  window.instance = InstanceId(static_cast<int64_t>(number));
  return with_margin(std::move(window));
}

// Where two of the same ranks overlap, one that spans both, about the earlier.
std::vector<MergeWindow> merged(std::vector<MergeWindow> windows) {
  std::stable_sort(windows.begin(), windows.end(),
                   [](const MergeWindow& a, const MergeWindow& b) { return a.start < b.start; });
  std::vector<MergeWindow> apart;
  for (const MergeWindow& window : windows) {
    const auto before = std::find_if(apart.rbegin(), apart.rend(),
                                     [&](const MergeWindow& other) { return other.ranks == window.ranks; });
    if (before != apart.rend() && window.start <= before->end) {
      before->end = std::max(before->end, window.end);
    } else {
      apart.push_back(window);
    }
  }
  return apart;
}

}  // namespace

MergeWindow with_margin(MergeWindow window) {
  const int64_t margin_ns = std::max(kLeastMargin_ns, (window.to - window.from) / 2);
  window.start = window.from - margin_ns;
  window.end = window.to + margin_ns;
  return window;
}

Lateness find_lateness(const CorrelatedJob& rooms) {
  Lateness lateness;
  lateness.late.resize(rooms.job.traces.size());
  lateness.released_by.assign(rooms.instances.members.size(), -1);
  for (const RankTrace& trace : rooms.job.traces) lateness.calls.emplace_back(trace.calls.size());
  const std::vector<CollectiveInstance>& instances = rooms.instances.instances;
  for (size_t i = 0; i < instances.size(); ++i) {
    const View view{rooms, instances[i]};
    JobNs first{INT64_MAX};
    for (uint32_t m = 0; m < view.instance.member_count; ++m) {
      const CallRef& ref = view.ref(view.row(m));
      lateness.calls[ref.trace.index()][static_cast<size_t>(ref.call)] = {static_cast<int32_t>(i), view.row(m)};
      first = std::min(first, view.span(view.row(m)).start);
    }
    lateness.first_arrival.push_back(first);
    if (rooms.decomposition.instances[i].reason == SplitReason::split) {
      add_late(view, static_cast<int32_t>(i), lateness);
    }
  }
  for (std::vector<Late>& late : lateness.late) {
    std::sort(late.begin(), late.end(), [](const Late& a, const Late& b) {
      return std::tie(a.from, b.until, a.instance) < std::tie(b.from, a.until, b.instance);
    });
  }
  return lateness;
}

std::vector<MergeWindow> worst_waits(const CorrelatedJob& rooms, const Selection& selection, const Lateness& lateness,
                                     int32_t count) {
  const std::vector<CollectiveInstance>& instances = rooms.instances.instances;
  std::vector<int64_t> waits;
  for (const CollectiveInstance& instance : instances) waits.push_back(longest_wait({rooms, instance}, selection));
  std::vector<size_t> order(instances.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return waits[a] > waits[b]; });
  const ComponentNumbers components(rooms);
  std::vector<MergeWindow> windows;
  for (const size_t i : order) {
    if (std::ssize(windows) == count || waits[i] == 0) break;
    const JobNs first = lateness.first_arrival[i];
    MergeWindow window = window_of({rooms, instances[i]}, first, i);
    if (components.most() > 1) {
      window.ranks = components.ranks_with(rooms.job[rooms.instances.members[instances[i].first_member].trace]);
    }
    const bool shown = std::any_of(windows.begin(), windows.end(), [&](const MergeWindow& w) {
      return w.ranks == window.ranks && w.start <= first && first <= w.end;
    });
    if (!shown) windows.push_back(std::move(window));
  }
  return merged(std::move(windows));
}

}  // namespace skewscope::merge
