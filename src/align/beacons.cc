#include "beacons.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "collectives/open_end.h"
#include "collectives/synchronization.h"
#include "message_ties.h"
#include "skewscope/base/disjoint_sets.h"
#include "two_way.h"

namespace skewscope::align {
namespace {

constexpr size_t kStrata = 16, kPerStratum = 16;

double spread_of(const InstanceTable& table, const CollectiveInstance& i) {
  int64_t shortest = INT64_MAX, longest = 0;
  for (uint32_t k = 0; k < i.member_count; ++k) {
    const int64_t duration = table.spans[i.first_member + k].duration_ns;
    if (lacks_end(duration)) continue;
    shortest = std::min(shortest, duration);
    longest = std::max(longest, duration);
  }
  return static_cast<double>(longest - shortest);
}

// The first member whose end was recorded; none where fewer than two were: they tie nothing.
std::optional<uint32_t> first_tied(const InstanceTable& table, const CollectiveInstance& i) {
  std::optional<uint32_t> first;
  for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
    if (lacks_end(table.spans[row].duration_ns)) continue;
    if (first) return first;
    first = row;
  }
  return std::nullopt;
}

struct Candidate {
  size_t instance;
  double spread_ns;
  int64_t bias_ns;  // by how much a receiver ends after its sender does, or starts where `tie` says so
  int64_t hop_ns;   // by how much that may be wrong
  std::optional<MessageTie> tie = {};
};

// (session, communicator, smaller and larger rank of a link; -1 for whole communicators)
using GroupKey = std::tuple<SessionId, CommunicatorId, int32_t, int32_t>;

// Rows of one group, in order; thinned to the most balanced of each stratum.
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

struct Collector {
  const JobTrace& job;
  const InstanceTable& table;
  std::map<GroupKey, std::vector<Candidate>> groups;
  DisjointSets sets;
  std::vector<int64_t> first_end_ns, last_end_ns;

  Collector(const JobTrace& j, const InstanceTable& t)
      : job(j),
        table(t),
        sets(j.traces.size()),
        first_end_ns(j.traces.size(), INT64_MAX),
        last_end_ns(j.traces.size(), INT64_MIN) {}

  void add(const GroupKey& key, size_t id, int64_t bias_ns) {
    const CollectiveInstance& i = table.instances[id];
    const std::optional<uint32_t> first = first_tied(table, i);
    if (!first) return;
    groups[key].push_back({id, spread_of(table, i), bias_ns, std::llabs(bias_ns)});
    for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      if (!lacks_end(table.spans[row].duration_ns)) join(*first, row);
    }
  }

  void add(const TiedPair& pair) {
    for (const MessageTie& tie : pair.ties) {
      groups[key_of(pair)].push_back({tie.instance, tie.excess_ns, pair.transfer_ns, pair.hop_ns, tie});
      join(tie.to, tie.from);
      join(tie.from, tie.to);
    }
  }

  template <class Pair>
  static GroupKey key_of(const Pair& pair) {
    return {pair.session, pair.communicator, pair.low.value, pair.high.value};
  }

  // The call in row `row` of the members aligns its clock to that of `other`'s.
  void join(uint32_t other, uint32_t row) {
    const size_t trace = table.members[row].trace.index();
    sets.unite(table.members[other].trace.index(), trace);
    const int64_t end = table.spans[row].end().ns;
    first_end_ns[trace] = std::min(first_end_ns[trace], end);
    last_end_ns[trace] = std::max(last_end_ns[trace], end);
  }

  // Whether it is recorded when the members' calls ran.
  bool has_times(const CollectiveInstance& i) const {
    const auto first = table.members.begin() + i.first_member;
    return std::none_of(first, first + i.member_count,
                        [&](const CallRef& member) { return job[member.trace].durations_only; });
  }

  void gather() {
    for (size_t id = 0; id < table.instances.size(); ++id) {
      const CollectiveInstance& i = table.instances[id];
      if (ends_together(i.kind) && i.member_count >= 2 && has_times(i)) add({i.session, i.communicator, -1, -1}, id, 0);
    }
    const std::vector<TwoWayLink> links = two_way_links(job, table);
    for (const TiedPair& pair : message_ties(job, table, links)) add(pair);
    for (const TwoWayLink& link : links) {
      if (groups.count(key_of(link)) > 0) continue;
      for (const size_t id : link.instances) add(key_of(link), id, link.bias_ns);
    }
  }
};

// Fills the beacons of one component, group by group.
struct Filler {
  const Collector& from;
  std::vector<int32_t>& number;  // per trace of the job: its number in its component
  Beacons beacons;
  std::map<std::tuple<bool, size_t, std::string>, int32_t> kinds;

  int32_t trace_number(TraceIndex t) { return number[t.index()]; }

  int32_t kind_of(const GroupKey& key) {
    const bool pair = std::get<2>(key) >= 0;
    const Communicator& c = from.table.communicators[std::get<1>(key)];
    const auto size = pair ? size_t{2} : static_cast<size_t>(std::max(c.size, 0));
    return kinds.emplace(std::make_tuple(pair, size, c.description), static_cast<int32_t>(kinds.size())).first->second;
  }

  void add_observation(uint32_t member, int64_t start_ns, int64_t end_ns) {
    beacons.trace.push_back(trace_number(from.table.members[member].trace));
    beacons.start_ns.push_back(start_ns);
    beacons.end_ns.push_back(end_ns);
  }

  // The message left when its sender started at the earliest; nothing tells when its receiver came.
  void add_tie(const MessageTie& tie, int64_t transfer_ns) {
    const int64_t left_ns = from.table.spans[tie.from].start.ns, came_ns = from.table.spans[tie.to].end().ns;
    add_observation(tie.from, left_ns - transfer_ns, left_ns);
    add_observation(tie.to, kUnknownStart, came_ns - transfer_ns);
  }

  void add_row(const Candidate& row) {
    if (row.tie) {
      add_tie(*row.tie, row.bias_ns);
    } else {
      add_calls(row);
    }
    beacons.row_begin.push_back(static_cast<int32_t>(beacons.trace.size()));
    beacons.spread_ns.push_back(row.spread_ns);
  }

  void add_calls(const Candidate& row) {
    const CollectiveInstance& instance = from.table.instances[row.instance];
    for (uint32_t k = 0; k < instance.member_count; ++k) {
      const CallSpan& span = from.table.spans[instance.first_member + k];
      if (lacks_end(span.duration_ns)) continue;
      const bool receives = instance.kind == CollectiveKind::send && static_cast<int32_t>(k) != instance.special;
      add_observation(instance.first_member + k, span.start.ns, span.end().ns - (receives ? row.bias_ns : 0));
    }
  }

  // Thinned for each set of members: of a communicator all, of batches between two (send_recv) those two. A pair whose
  // ends differ more than others' would lose all rows, and a trace that only it aligns its clock.
  std::vector<Candidate> thinned(const std::vector<Candidate>& rows) const {
    std::map<std::pair<TraceIndex, TraceIndex>, std::vector<Candidate>> by_members;
    for (const Candidate& row : rows) {
      const CollectiveInstance& i = from.table.instances[row.instance];
      const auto member = [&](uint32_t k) { return from.table.members[i.first_member + k].trace; };
      const bool two = i.kind == CollectiveKind::send_recv;
      by_members[two ? std::pair(member(0), member(1)) : std::pair<TraceIndex, TraceIndex>()].push_back(row);
    }
    std::vector<Candidate> kept;
    for (auto& [members, own] : by_members) {
      for (const Candidate& row : thin(std::move(own))) kept.push_back(row);
    }
    std::sort(kept.begin(), kept.end(), [](const Candidate& a, const Candidate& b) { return a.instance < b.instance; });
    return kept;
  }

  void make_room(size_t rows, size_t observations) {
    beacons.row_begin.reserve(rows + 1);
    beacons.spread_ns.reserve(rows);
    beacons.scale_class.reserve(rows);
    beacons.trace.reserve(observations);
    beacons.start_ns.reserve(observations);
    beacons.end_ns.reserve(observations);
  }

  // Over a network the later of two finds the other's message there and leaves a hop before it: no more than the
  // shortest exchange takes. A link of two directions is off by its delay at most, were one of them to take none.
  double hop_of(const GroupKey& key, const std::vector<Candidate>& rows) const {
    int64_t hop_ns = INT64_MAX;
    for (const Candidate& row : rows) {
      if (std::get<2>(key) >= 0) return static_cast<double>(row.hop_ns);
      const CollectiveInstance& i = from.table.instances[row.instance];
      if (i.kind != CollectiveKind::send_recv) return 0;
      for (uint32_t k = 0; k < i.member_count; ++k) {
        hop_ns = std::min(hop_ns, from.table.spans[i.first_member + k].duration_ns);
      }
    }
    return static_cast<double>(hop_ns);
  }

  // `rows`: thinned; not empty.
  void add_group(const GroupKey& key, const std::vector<Candidate>& rows) {
    const auto group = static_cast<int32_t>(beacons.groups.size());
    beacons.groups.push_back(
        {std::get<0>(key), std::get<1>(key), kind_of(key), std::get<2>(key) >= 0, hop_of(key, rows)});
    std::map<std::pair<CollectiveKind, int64_t>, int32_t> classes;
    for (const Candidate& row : rows) {
      const CollectiveInstance& i = from.table.instances[row.instance];
      const auto next = static_cast<int32_t>(beacons.classes.size());
      const auto [at, fresh] = classes.emplace(std::make_pair(i.kind, i.bytes), next);
      if (fresh) beacons.classes.push_back({group, static_cast<int32_t>(classes.size()) - 1, i.kind, i.bytes});
      beacons.scale_class.push_back(at->second);
      add_row(row);
    }
    beacons.kinds = static_cast<int32_t>(kinds.size());
  }
};

}  // namespace

std::vector<Beacons> collect_beacons(const JobTrace& job, const InstanceTable& table) {
  Collector collector(job, table);
  collector.gather();
  // A group's instances may be of several components: halves of its members that no instance joins.
  std::map<size_t, std::map<GroupKey, std::vector<Candidate>>> by_root;
  for (auto& [key, rows] : collector.groups) {
    for (const Candidate& row : rows) {
      const uint32_t member = row.tie ? row.tie->to : first_tied(table, table.instances[row.instance]).value();
      const size_t any = table.members[member].trace.index();
      by_root[collector.sets.root(any)][key].push_back(row);
    }
    std::vector<Candidate>().swap(rows);
  }
  std::map<size_t, std::vector<int32_t>> members;
  std::vector<int32_t> number(job.traces.size(), -1);
  for (size_t t = 0; t < job.traces.size(); ++t) {
    if (collector.first_end_ns[t] > collector.last_end_ns[t]) continue;
    std::vector<int32_t>& of_root = members[collector.sets.root(t)];
    number[t] = static_cast<int32_t>(of_root.size());
    of_root.push_back(static_cast<int32_t>(t));
  }
  std::vector<Beacons> all;
  for (auto& [root, groups] : by_root) {
    Filler filler{collector, number, {}, {}};
    filler.beacons.traces = members[root];
    for (const int32_t t : filler.beacons.traces) {
      filler.beacons.first_end_ns.push_back(collector.first_end_ns[static_cast<size_t>(t)]);
      filler.beacons.last_end_ns.push_back(collector.last_end_ns[static_cast<size_t>(t)]);
    }
    size_t rows = 0, observations = 0;
    for (auto& [key, of_group] : groups) {
      of_group = filler.thinned(of_group);
      rows += of_group.size();
      for (const Candidate& row : of_group) observations += row.tie ? 2 : table.instances[row.instance].member_count;
    }
    filler.make_room(rows, observations);
    for (const auto& [key, of_group] : groups) filler.add_group(key, of_group);
    all.push_back(std::move(filler.beacons));
  }
  return all;
}

}  // namespace skewscope::align
