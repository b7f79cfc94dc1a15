// Problem: a call names its group by a counter that other groups share, and lists its members only up to 30, or not at
// all for irregular groups.
// Idea: each mention gets members from the best source that has them: the group list of its own trace, a complete list
// on the call, start and stride, a cut list continued as the progression it was computed from. What stays without
// members is pooled over traces by (name, visible prefix, start, size): another trace's group list that contains the
// rank, else the union of the ranks that mention it. A communicator is then one (members, name).
// Why right: libkineto computes the written list as start + i * stride, so two visible members give all of a cut
// list, and the other 28 verify it. A pool larger than the group's size is several groups of one name; it gets none.
// Each of N traces lists the N ranks of its largest groups: lists are kept as runs (rank_runs.h), and what is made of a
// list is made once. Cost: O((mentions + runs of lists) * log); the members of a communicator are listed once.
#include "group_members.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "same_groups.h"
#include "src/ingest/text/number_list.h"
namespace skewscope::ingest {
namespace {

constexpr int64_t kLargestGroup = 1'000'000;  // a size beyond it is a misread number, not a list to build

// Sorted, unique.
using Members = RankRuns;

Members to_members(std::vector<int64_t> ranks) {
  std::erase_if(ranks, [](int64_t rank) { return rank < 0 || rank >= kLargestGroup; });
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return Members(ranks);
}

struct Found {
  Members members;
  int32_t size = 0;
  MembersSource source = MembersSource::observed;
};

Found found(Members members, int64_t size, MembersSource source) {
  const int64_t known = static_cast<int64_t>(members.size());
  return {std::move(members), static_cast<int32_t>(std::max(known, std::min(size, kLargestGroup))), source};
}

// Ranks below `world` only: a misread size must not make a long list.
std::optional<Found> progression(int64_t start, int64_t stride, int64_t size, int64_t world) {
  if (start < 0 || start >= world || size < 1 || size > world || (stride < 1 && size > 1)) return std::nullopt;
  if (size > 1 && stride > (world - 1 - start) / (size - 1)) return std::nullopt;
  return found(Members::progression(start, stride, size), size, MembersSource::progression);
}

// A cut list continued as first + i * (second - first), if what is visible follows that rule.
std::optional<Found> continued(const std::vector<int64_t>& visible, int64_t size, int64_t world) {
  if (visible.size() < 2 || size < static_cast<int64_t>(visible.size())) return std::nullopt;
  const int64_t stride = visible[1] - visible[0];
  for (size_t i = 0; i < visible.size(); ++i) {
    if (visible[i] != visible[0] + static_cast<int64_t>(i) * stride) return std::nullopt;
  }
  return progression(visible[0], stride, size, world);
}

bool compatible(const Members& members, const NumberList& visible, int64_t size) {
  if (size >= 0 && static_cast<int64_t>(members.size()) != size) return false;
  return std::all_of(visible.numbers.begin(), visible.numbers.end(),
                     [&](int64_t rank) { return members.contains(rank); });
}

// Mentions without members, pooled over traces.
using PoolKey = std::tuple<std::string, std::vector<int64_t>, int64_t, int64_t>;  // name, prefix, start, size

struct Pool {
  std::vector<int64_t> observed;                    // ranks that mention it, and the visible ones
  std::vector<std::pair<size_t, size_t>> mentions;  // (trace, mention)
};

// One whose members no trace lists, as far as they are known.
struct OpenPool {
  std::string name;
  int64_t size = -1, open = 0;  // open: mentions
  std::pair<size_t, size_t> mention;
};

class GroupResolver {
 public:
  GroupResolver(const std::vector<TraceGroups>& traces, int64_t world)
      : traces_(traces), world_(world), found_(traces.size()) {}

  ResolvedGroups resolve() {
    for (size_t t = 0; t < traces_.size(); ++t) {
      found_[t].resize(traces_[t].mentions->size());
      for (size_t m = 0; m < found_[t].size(); ++m) resolve_alone(t, m);
    }
    std::map<std::string, std::set<Members>> listed;
    if (!pools_.empty()) listed = listed_by_any();
    for (const auto& [key, pool] : pools_) resolve_pool(key, pool, listed[std::get<0>(key)]);
    join_tracers();
    report_unknown_members();
    build_table();
    return std::move(result_);
  }

 private:
  const Members& members_of(const RankRuns& listed) {
    const auto [entry, added] = members_of_list_.try_emplace(listed);
    if (added) entry->second = to_members(listed.ranks());
    return entry->second;
  }

  // The group's entry in distributedInfo of this trace, if it fits what the call says.
  std::optional<Found> from_config(const TraceGroups& trace, const GroupMention& mention, const NumberList& visible) {
    if (trace.config == nullptr) return std::nullopt;
    for (const ProcessGroup& group : *trace.config) {
      if (group.name != mention.name || group.ranks.empty()) continue;
      const Members& members = members_of(group.ranks);
      if (!compatible(members, visible, mention.size)) continue;
      return found(members, static_cast<int64_t>(members.size()), MembersSource::process_group_config);
    }
    return std::nullopt;
  }

  std::optional<Found> from_own_trace(const TraceGroups& trace, const GroupMention& mention,
                                      const NumberList& visible) {
    if (auto by_config = from_config(trace, mention, visible)) return by_config;
    const int64_t listed = static_cast<int64_t>(visible.numbers.size());
    if (!visible.cut && listed > 0 && (mention.size < 0 || mention.size == listed)) {
      return found(to_members(visible.numbers), listed, MembersSource::call_ranks);
    }
    if (auto by_stride = progression(mention.rank_start, mention.rank_stride, mention.size, world_)) {
      if (compatible(by_stride->members, visible, mention.size)) return by_stride;
    }
    return visible.cut ? continued(visible.numbers, mention.size, world_) : std::nullopt;
  }

  void resolve_alone(size_t t, size_t m) {
    const TraceGroups& trace = traces_[t];
    const GroupMention& mention = (*trace.mentions)[m];
    const NumberList visible = parse_number_list(mention.ranks);
    found_[t][m] = from_own_trace(trace, mention, visible);
    if (found_[t][m]) {
      check_own_rank(trace, mention, *found_[t][m]);
      return;
    }
    Pool& pool = pools_[{mention.name, visible.numbers, mention.rank_start, mention.size}];
    pool.mentions.emplace_back(t, m);
    if (!trace.synthetic) pool.observed.push_back(trace.rank.value);
    pool.observed.insert(pool.observed.end(), visible.numbers.begin(), visible.numbers.end());
  }

  void check_own_rank(const TraceGroups& trace, const GroupMention& mention, const Found& group) {
    if (trace.synthetic || group.members.contains(trace.rank.value)) return;
    add_finding(result_.findings,
                finding_of_rank(Severity::warning, "rank-not-in-group", trace.file, trace.rank,
                                "calls of group \"" + mention.name + "\", whose members do not include rank " +
                                    std::to_string(trace.rank.value) + "; the file's rank may be wrong"));
  }

  // What any trace lists, by name of the group.
  std::map<std::string, std::set<Members>> listed_by_any() {
    std::map<std::string, std::set<Members>> listed;
    for (const TraceGroups& trace : traces_) {
      if (trace.config == nullptr) continue;
      for (const ProcessGroup& group : *trace.config) {
        if (!group.ranks.empty()) listed[group.name].insert(members_of(group.ranks));
      }
    }
    return listed;
  }

  // The one list of that name and size, in any trace, that holds the rank.
  static std::optional<Found> the_one_with(Rank rank, const std::set<Members>& listed, const PoolKey& key) {
    const Members* only = nullptr;
    for (const Members& members : listed) {
      if (!compatible(members, {std::get<1>(key), true}, std::get<3>(key)) || !members.contains(rank.value)) continue;
      if (only != nullptr) return std::nullopt;
      only = &members;
    }
    if (only == nullptr) return std::nullopt;
    return found(*only, static_cast<int64_t>(only->size()), MembersSource::process_group_config);
  }

  void resolve_pool(const PoolKey& key, const Pool& pool, const std::set<Members>& listed) {
    const Members observed = to_members(pool.observed);
    const auto known = static_cast<int64_t>(observed.size());
    const int64_t size = std::get<3>(key);
    const bool several = size >= 0 && known > size;
    int64_t open = 0;
    std::pair<size_t, size_t> first_open;
    for (const auto& [t, m] : pool.mentions) {
      if (!traces_[t].synthetic) found_[t][m] = the_one_with(traces_[t].rank, listed, key);
      if (found_[t][m]) continue;
      if (open++ == 0) first_open = {t, m};
      if (!several) found_[t][m] = found(observed, size, MembersSource::observed);
    }
    if (several && open > 0) {
      result_.findings.push_back(finding_of_job(
          Severity::warning, "ambiguous-group",
          "more ranks mention group \"" + std::get<0>(key) + "\" than its size of " + std::to_string(size) +
              "; its members are not listed; calls are matched where their times show the group",
          open));
    }
    if (!several && open > 0) open_.push_back({std::get<0>(key), size, open, first_open});
  }

  // Groups that tracers call by names of their own, put together: their members, and the name of the one that lists
  // them.
  void join_tracers() {
    std::set<std::string> tracers;
    for (const TraceGroups& trace : traces_) tracers.insert(trace.tracer);
    if (tracers.size() < 2) return;
    std::vector<TracerGroup> groups;
    std::vector<std::vector<std::pair<size_t, size_t>>> mentions;  // row = row of groups
    collect_by_tracer(groups, mentions);
    const std::vector<size_t> first = same_groups(groups);
    std::map<size_t, std::vector<size_t>> sets;
    for (size_t i = 0; i < first.size(); ++i) sets[first[i]].push_back(i);
    for (const auto& [root, rows] : sets) {
      if (rows.size() > 1) join(rows, mentions);
    }
  }

  void collect_by_tracer(std::vector<TracerGroup>& groups,
                         std::vector<std::vector<std::pair<size_t, size_t>>>& mentions) {
    std::map<std::tuple<std::string, Members, std::string, int32_t>, size_t> known;
    for (size_t t = 0; t < traces_.size(); ++t) {
      const TraceGroups& trace = traces_[t];
      if (trace.synthetic) continue;
      for (size_t m = 0; m < found_[t].size(); ++m) {
        if (!found_[t][m]) continue;
        const Found& group = *found_[t][m];
        const GroupMention& mention = (*trace.mentions)[m];
        const auto [entry, added] =
            known.try_emplace({trace.tracer, group.members, mention.name, group.size}, groups.size());
        if (added) {
          const std::vector<int64_t> members = group.members.ranks();
          groups.push_back({trace.tracer, {members.begin(), members.end()}, group.size, {}, {}, {}});
          mentions.emplace_back();
        }
        add_caller(trace, mention, groups[entry->second]);
        mentions[entry->second].emplace_back(t, m);
      }
    }
  }

  static void add_caller(const TraceGroups& trace, const GroupMention& mention, TracerGroup& group) {
    group.callers.insert(trace.rank.value);
    if (trace.config != nullptr) {
      for (const ProcessGroup& own : *trace.config) {
        if (own.name == mention.name && own.own_rank >= 0) group.position[trace.rank.value] = own.own_rank;
      }
    }
    group.use.kinds |= mention.use.kinds;
    group.use.mean_bytes = std::max(group.use.mean_bytes, mention.use.mean_bytes);
    group.use.calls += mention.use.calls;
  }

  void join(const std::vector<size_t>& rows, const std::vector<std::vector<std::pair<size_t, size_t>>>& mentions) {
    std::vector<int64_t> members;
    const auto found_at = [&](size_t row) -> const Found& {
      const auto [t, m] = mentions[row].front();
      return *found_[t][m];
    };
    size_t best = rows.front();
    for (const size_t row : rows) {
      const std::vector<int64_t> ranks = found_at(row).members.ranks();
      members.insert(members.end(), ranks.begin(), ranks.end());
      if (found_at(row).source < found_at(best).source) best = row;
    }
    const Found joined = found(to_members(members), found_at(best).size, found_at(best).source);
    const auto [best_t, best_m] = mentions[best].front();
    for (const size_t row : rows) {
      for (const auto& [t, m] : mentions[row]) {
        found_[t][m] = joined;
        joined_as_[{t, m}] = &(*traces_[best_t].mentions)[best_m].name;
      }
    }
  }

  void report_unknown_members() {
    for (const OpenPool& pool : open_) {
      const auto [t, m] = pool.mention;
      const auto known = static_cast<int64_t>(found_[t][m]->members.size());
      if (known == pool.size) continue;
      const std::string has =
          pool.size < 0 ? "\", of unknown size, has " : "\" has " + std::to_string(pool.size) + " members, ";
      result_.findings.push_back(finding_of_job(Severity::info, "members-unknown",
                                                "group \"" + pool.name + has + std::to_string(known) +
                                                    (pool.size < 0 ? " known members" : " are known") +
                                                    "; waiting in its collectives is a lower bound",
                                                pool.open));
    }
  }

  const std::string& name_of(size_t t, size_t m) const {
    const auto joined = joined_as_.find({t, m});
    return joined == joined_as_.end() ? (*traces_[t].mentions)[m].name : *joined->second;
  }

  // One of the job's communicators, and who mentions it.
  struct Row {
    Communicator communicator;
    std::vector<std::pair<size_t, size_t>> mentions;  // (trace, mention)
  };

  // Partly known groups differ by size too.
  std::vector<Row> rows() {
    std::map<std::tuple<Members, std::string, int32_t>, Row> table;
    for (size_t t = 0; t < traces_.size(); ++t) {
      for (size_t m = 0; m < found_[t].size(); ++m) {
        if (!found_[t][m]) continue;
        const Found& group = *found_[t][m];
        const GroupMention& mention = (*traces_[t].mentions)[m];
        Row& row = table[{group.members, name_of(t, m), group.size}];
        Communicator& c = row.communicator;
        const bool first = row.mentions.empty();
        c.name = name_of(t, m);
        c.size = group.size;
        c.source = first ? group.source : std::min(c.source, group.source);
        // PyTorch's word for a group that its program did not describe.
        const std::string description = mention.description == "undefined" ? "" : mention.description;
        c.description = first ? description : std::max(c.description, description);
        c.several_tracers =
            c.several_tracers || (!first && traces_[row.mentions.front().first].tracer != traces_[t].tracer);
        row.mentions.emplace_back(t, m);
      }
    }
    std::vector<Row> rows;
    for (auto& [identity, row] : table) {
      for (const int64_t rank : std::get<0>(identity).ranks()) row.communicator.members.emplace_back(rank);
      rows.push_back(std::move(row));
    }
    return rows;
  }

  void build_table() {
    std::vector<Row> table = rows();
    std::sort(table.begin(), table.end(), [](const Row& a, const Row& b) {
      const Communicator &x = a.communicator, &y = b.communicator;
      return std::tie(x.members, x.name, x.size) < std::tie(y.members, y.name, y.size);
    });
    for (const auto& of_trace : found_) result_.of_mention.emplace_back(of_trace.size());
    for (Row& row : table) {
      const CommunicatorId id(std::ssize(result_.communicators.communicators));
      for (const auto& [t, m] : row.mentions) result_.of_mention[t][m] = id;
      result_.communicators.communicators.push_back(std::move(row.communicator));
    }
  }

  const std::vector<TraceGroups>& traces_;
  const int64_t world_;
  std::vector<std::vector<std::optional<Found>>> found_;  // [trace][mention]
  std::map<PoolKey, Pool> pools_;
  std::map<RankRuns, Members> members_of_list_;
  std::vector<OpenPool> open_;
  std::map<std::pair<size_t, size_t>, const std::string*> joined_as_;  // (trace, mention) -> the name of the group
  ResolvedGroups result_;
};

}  // namespace

ResolvedGroups resolve_groups(const std::vector<TraceGroups>& traces, int32_t world_size) {
  return GroupResolver(traces, std::min<int64_t>(world_size, kLargestGroup)).resolve();
}

}  // namespace skewscope::ingest
