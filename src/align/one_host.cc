#include "one_host.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "skewscope/base/disjoint_sets.h"
#include "skewscope/base/middle.h"

namespace skewscope::align {
namespace {

constexpr int64_t kMost = 1'000'000;  // ns; more than any tracer's clocks of one host were seen to differ
constexpr int64_t kLeast = 10'000;    // ns; what nearly all keep

// Per link of two traces of one host: how far the ends of its transfers lie apart.
std::map<std::pair<size_t, size_t>, std::vector<int64_t>> end_distances(const JobTrace& job, const InstanceTable& table,
                                                                        const ClockModel& model) {
  std::map<std::pair<size_t, size_t>, std::vector<int64_t>> links;
  for (const CollectiveInstance& i : table.instances) {
    if (i.kind != CollectiveKind::send || i.member_count != 2) continue;
    const TraceIndex a = table.members[i.first_member].trace, b = table.members[i.first_member + 1].trace;
    if (model.clocks[a.index()].component >= 0 || model.clocks[b.index()].component >= 0) continue;
    if (job[a].host.empty() || job[a].host != job[b].host) continue;
    const int64_t distance = table.spans[i.first_member].end() - table.spans[i.first_member + 1].end();
    links[{a.index(), b.index()}].push_back(std::llabs(distance));
  }
  return links;
}

}  // namespace

std::vector<HostClock> host_clocks(const JobTrace& job, const InstanceTable& table, const ClockModel& model) {
  DisjointSets sets(job.traces.size());
  std::vector<std::pair<size_t, int64_t>> bars;  // a trace, and the uncertainty of one of its links
  auto links = end_distances(job, table, model);
  for (auto& [link, distances] : links) {
    const auto most = static_cast<size_t>(0.95 * static_cast<double>(distances.size() - 1));
    const int64_t bar = std::max(kLeast, take_nth(distances, most));
    if (bar > kMost) continue;
    sets.unite(link.first, link.second);
    bars.emplace_back(link.first, bar);
  }
  std::map<size_t, HostClock> clocks;  // by root
  for (const auto& [trace, bar] : bars) {
    HostClock& clock = clocks[sets.root(trace)];
    clock.bar_ns = std::max(clock.bar_ns, bar);
  }
  for (size_t t = 0; t < job.traces.size(); ++t) {
    const auto at = clocks.find(sets.root(t));
    if (at != clocks.end()) at->second.traces.push_back(t);
  }
  std::vector<HostClock> all;
  for (auto& [root, clock] : clocks) all.push_back(std::move(clock));
  return all;
}

}  // namespace skewscope::align
