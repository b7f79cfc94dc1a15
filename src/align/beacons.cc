#include "beacons.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "collectives/synchronization.h"
#include "skewscope/base/disjoint_sets.h"

namespace skewscope::align {
namespace {

constexpr size_t kStrata = 16, kPerStratum = 32;

const CollectiveCall& call_of(const JobTrace& job, const CallRef& ref) {
  return job[ref.trace].calls[static_cast<size_t>(ref.call)];
}

double spread_of(const JobTrace& job, const InstanceTable& table, const CollectiveInstance& i) {
  int64_t shortest = INT64_MAX, longest = 0;
  for (uint32_t k = 0; k < i.member_count; ++k) {
    const int64_t duration = call_of(job, table.members[i.first_member + k]).duration_ns;
    shortest = std::min(shortest, duration);
    longest = std::max(longest, duration);
  }
  return static_cast<double>(longest - shortest);
}

struct Candidate {
  size_t instance;
  double spread_ns;
};

// Rows of one communicator and session, in order; thinned to the most balanced of each stratum.
std::vector<Candidate> thin(std::vector<Candidate> rows) {
  if (rows.size() <= kStrata * kPerStratum) return rows;
  std::vector<Candidate> kept;
  for (size_t s = 0; s < kStrata; ++s) {
    const auto begin = rows.begin() + static_cast<int64_t>(s * rows.size() / kStrata);
    const auto end = rows.begin() + static_cast<int64_t>((s + 1) * rows.size() / kStrata);
    const auto last = begin + static_cast<int64_t>(std::min<size_t>(kPerStratum, static_cast<size_t>(end - begin)));
    std::partial_sort(begin, last, end, [](const Candidate& a, const Candidate& b) {
      return std::tie(a.spread_ns, a.instance) < std::tie(b.spread_ns, b.instance);
    });
    kept.insert(kept.end(), begin, last);
  }
  std::sort(kept.begin(), kept.end(), [](const Candidate& a, const Candidate& b) { return a.instance < b.instance; });
  return kept;
}

// The smallest trace of a component is its number.
void find_components(Beacons& beacons, size_t traces) {
  DisjointSets sets(traces);
  std::vector<bool> tied(traces, false);
  for (size_t c = 0; c < beacons.rows(); ++c) {
    const auto first = static_cast<size_t>(beacons.row_begin[c]);
    for (auto k = first; k < static_cast<size_t>(beacons.row_begin[c + 1]); ++k) {
      sets.unite(static_cast<size_t>(beacons.trace[first]), static_cast<size_t>(beacons.trace[k]));
      tied[static_cast<size_t>(beacons.trace[k])] = true;
    }
  }
  beacons.component.assign(traces, -1);
  for (size_t t = 0; t < traces; ++t) {
    if (tied[t]) beacons.component[t] = static_cast<int32_t>(sets.root(t));
  }
}

}  // namespace

Beacons collect_beacons(const JobTrace& job, const InstanceTable& table) {
  std::map<std::pair<SessionId, CommunicatorId>, std::vector<Candidate>> groups;
  for (size_t i = 0; i < table.instances.size(); ++i) {
    const CollectiveInstance& instance = table.instances[i];
    if (!ends_together(instance.kind) || instance.member_count < 2) continue;
    groups[{instance.session, instance.communicator}].push_back({i, spread_of(job, table, instance)});
  }
  Beacons beacons;
  std::map<std::tuple<CommunicatorId, CollectiveKind, int64_t>, int32_t> classes;
  for (auto& [key, rows] : groups) {
    int32_t ordinal = 0;
    for (const Candidate& row : thin(std::move(rows))) {
      const CollectiveInstance& instance = table.instances[row.instance];
      for (uint32_t k = 0; k < instance.member_count; ++k) {
        const CallRef& ref = table.members[instance.first_member + k];
        beacons.trace.push_back(ref.trace.value);
        beacons.start_ns.push_back(call_of(job, ref).start.ns);
        beacons.end_ns.push_back(call_of(job, ref).end().ns);
      }
      const auto next = static_cast<int32_t>(classes.size());
      const auto at = classes.emplace(std::make_tuple(instance.communicator, instance.kind, instance.bytes), next);
      beacons.scale_class.push_back(at.first->second);
      beacons.row_begin.push_back(static_cast<int32_t>(beacons.trace.size()));
      beacons.spread_ns.push_back(row.spread_ns);
      beacons.ordinal.push_back(ordinal++);
    }
  }
  beacons.classes = static_cast<int32_t>(classes.size());
  find_components(beacons, job.traces.size());
  return beacons;
}

}  // namespace skewscope::align
