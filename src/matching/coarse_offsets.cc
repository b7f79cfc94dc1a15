#include "coarse_offsets.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

#include "collectives/synchronization.h"
#include "skewscope/base/disjoint_sets.h"
#include "skewscope/base/middle.h"

namespace skewscope::matching {
namespace {

struct Edge {
  int32_t from, to;       // traces
  int64_t difference_ns;  // end on `from`'s clock - end on `to`'s clock
  size_t shared;
};

const CollectiveCall& call_of(const CallGroup& group, const MatchOutcome::Part& part) {
  return *group.calls[static_cast<size_t>(part.member)][static_cast<size_t>(part.call)];
}

constexpr int64_t kTransferScatter = 100'000;  // ns; a late receiver's end is no sender's

// Median distance of `values`, in any order, from their middle.
int64_t scatter_of(std::vector<int64_t> values, int64_t middle_ns) {
  for (int64_t& value : values) value = std::llabs(value - middle_ns);
  return take_middle(values);
}

// Differences of every member against the one of its cluster that is present in most instances.
void add_edges(const CallGroup& group, const MatchOutcome& outcome, std::vector<Edge>& edges) {
  std::vector<size_t> present(group.members.size(), 0);
  for (const MatchOutcome::Part& part : outcome.parts) ++present[static_cast<size_t>(part.member)];
  std::map<int32_t, int32_t> hubs;  // by cluster
  for (size_t m = 0; m < present.size(); ++m) {
    const auto [hub, first] = hubs.emplace(outcome.cluster[m], static_cast<int32_t>(m));
    if (present[m] > present[static_cast<size_t>(hub->second)]) hub->second = static_cast<int32_t>(m);
  }
  std::vector<std::vector<int64_t>> differences(group.members.size());
  for (size_t low = 0, high = 0; low < outcome.parts.size(); low = high) {
    while (high < outcome.parts.size() && outcome.parts[high].instance == outcome.parts[low].instance) ++high;
    const int32_t hub = hubs.at(outcome.cluster[static_cast<size_t>(outcome.parts[low].member)]);
    size_t at = low;
    while (at < high && outcome.parts[at].member != hub) ++at;
    if (at == high || (!ends_together(call_of(group, outcome.parts[at]).kind) && !group.key.pair())) continue;
    for (size_t k = low; k < high; ++k) {
      if (k == at) continue;
      differences[static_cast<size_t>(outcome.parts[k].member)].push_back(call_of(group, outcome.parts[at]).end() -
                                                                          call_of(group, outcome.parts[k]).end());
    }
  }
  for (size_t m = 0; m < differences.size(); ++m) {
    std::vector<int64_t>& values = differences[m];
    if (values.empty()) continue;
    const int64_t offset_ns = take_middle(values);
    if (scatter_of(values, offset_ns) > (group.key.pair() ? kTransferScatter : kLargestPriorError)) continue;
    const auto hub = static_cast<size_t>(hubs.at(outcome.cluster[m]));
    edges.push_back({group.members[hub].value, group.members[m].value, offset_ns, values.size()});
  }
}

}  // namespace

CoarseOffsets coarse_offsets(size_t traces, const std::vector<CallGroup>& groups,
                             const std::vector<MatchOutcome>& outcomes, Exchange& exchange) {
  std::vector<std::vector<Edge>> of_group(groups.size());
  tbb::parallel_for(size_t{0}, groups.size(), [&](size_t g) { add_edges(groups[g], outcomes[g], of_group[g]); });
  std::vector<Edge> edges;
  for (const std::vector<Edge>& some : of_group) edges.insert(edges.end(), some.begin(), some.end());
  edges = all_rows(exchange, std::move(edges));
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(b.shared, a.from, a.to, a.difference_ns) < std::tie(a.shared, b.from, b.to, b.difference_ns);
  });
  DisjointSets sets(traces);
  std::vector<std::vector<std::pair<int32_t, int64_t>>> tree(traces);  // neighbour, its offset minus own
  for (const Edge& e : edges) {
    if (!sets.unite(static_cast<size_t>(e.from), static_cast<size_t>(e.to))) continue;
    tree[static_cast<size_t>(e.from)].emplace_back(e.to, e.difference_ns);
    tree[static_cast<size_t>(e.to)].emplace_back(e.from, -e.difference_ns);
  }
  CoarseOffsets coarse{std::vector<int64_t>(traces, 0), std::vector<int32_t>(traces, -1)};
  for (size_t start = 0; start < traces; ++start) {
    if (coarse.component[start] >= 0) continue;
    coarse.component[start] = static_cast<int32_t>(start);
    std::vector<size_t> open{start};
    while (!open.empty()) {
      const size_t t = open.back();
      open.pop_back();
      for (const auto& [next, difference] : tree[t]) {
        const auto n = static_cast<size_t>(next);
        if (coarse.component[n] >= 0) continue;
        coarse.component[n] = static_cast<int32_t>(start);
        coarse.offset_ns[n] = coarse.offset_ns[t] + difference;
        open.push_back(n);
      }
    }
  }
  return coarse;
}

namespace {

// Offsets of the members in the component that most of them belong to; none where that is fewer than two.
template <class Component, class Offset>
std::vector<std::optional<Prior>> of_largest_component(size_t members, const Component& component,
                                                       const Offset& prior_of) {
  std::map<int32_t, size_t> count;
  for (size_t m = 0; m < members; ++m) {
    if (component(m) >= 0) ++count[component(m)];
  }
  const auto largest =
      std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::optional<Prior>> prior(members);
  if (largest == count.end() || largest->second < 2) return prior;
  for (size_t m = 0; m < members; ++m) {
    if (component(m) == largest->first) prior[m] = prior_of(m);
  }
  return prior;
}

}  // namespace

std::vector<std::optional<Prior>> prior_for(const CallGroup& group, const CoarseOffsets& coarse) {
  return of_largest_component(
      group.members.size(), [&](size_t m) { return coarse.component[group.members[m].index()]; },
      [&](size_t m) { return Prior{coarse.offset_ns[group.members[m].index()]}; });
}

std::vector<std::optional<Prior>> prior_from_clocks(const CallGroup& group, const ClockModel& clocks) {
  const auto component = [&](size_t m) {
    const TraceClock& clock = clocks.clocks[group.members[m].index()];
    return clock.aligned && !group.calls[m].empty() ? clock.component : -1;
  };
  return of_largest_component(group.members.size(), component, [&](size_t m) {
    const LocalNs middle = group.calls[m][group.calls[m].size() / 2]->end();
    const TraceClock& clock = clocks.clocks[group.members[m].index()];
    Prior prior{clocks.to_job(group.members[m], middle).ns - middle.ns};
    const bool tied_there = clock.tied_from <= middle && middle <= clock.tied_to;
    if (clock.uncertainty_ns >= 0 && tied_there) prior.error_ns = clock.uncertainty_ns * 3 / 2;  // three deviations
    return prior;
  });
}

}  // namespace skewscope::matching
