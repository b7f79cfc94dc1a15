// Problem: a call names its group by a counter that other groups share, and lists its members only up to 30, or not at
// all for irregular groups.
// Idea: each mention gets members from the best source that has them: the group list of its own trace, a complete list
// on the call, start and stride, a cut list continued as the progression it was computed from. What stays without
// members is pooled over traces by (name, visible prefix, start, size): another trace's group list that contains the
// rank, else the union of the ranks that mention it. A communicator is then one (members, name).
// Why right: libkineto computes the written list as start + i * stride, so two visible members give all of a cut
// list, and the other 28 verify it. A pool larger than the group's size is several groups of one name; it gets none.
// Cost: O(mentions * log), members of a group are built once per mention.
#include "group_members.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

namespace skewscope::ingest {
namespace {

constexpr int64_t kLargestGroup = 1'000'000;  // a size beyond it is a misread number, not a list to build

using Members = std::vector<Rank>;

Members to_members(const std::vector<int64_t>& ranks) {
  Members members;
  for (const int64_t rank : ranks) {
    if (rank >= 0 && rank < kLargestGroup) members.push_back(Rank(rank));
  }
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

bool contains(const Members& members, Rank rank) { return std::binary_search(members.begin(), members.end(), rank); }

struct Found {
  Members members;
  int32_t size = 0;
  MembersSource source = MembersSource::observed;
};

Found found(Members members, int64_t size, MembersSource source) {
  const int64_t known = static_cast<int64_t>(members.size());
  return {std::move(members), static_cast<int32_t>(std::max(known, std::min(size, kLargestGroup))), source};
}

// Ranks below `world` only: a misread size must not cost a long list per mention.
std::optional<Found> progression(int64_t start, int64_t stride, int64_t size, int64_t world) {
  if (start < 0 || start >= world || size < 1 || size > world || (stride < 1 && size > 1)) return std::nullopt;
  if (size > 1 && stride > (world - 1 - start) / (size - 1)) return std::nullopt;
  Members members;
  for (int64_t i = 0; i < size; ++i) members.push_back(Rank(start + i * stride));
  return found(std::move(members), size, MembersSource::progression);
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

bool compatible(const Members& members, const RankList& visible, int64_t size) {
  if (size >= 0 && static_cast<int64_t>(members.size()) != size) return false;
  return std::all_of(visible.ranks.begin(), visible.ranks.end(),
                     [&](int64_t rank) { return contains(members, Rank(rank)); });
}

// The group's entry in distributedInfo of this trace, if it fits what the call says.
std::optional<Found> from_config(const TraceGroups& trace, const GroupMention& mention, const RankList& visible) {
  if (trace.config == nullptr) return std::nullopt;
  for (const ProcessGroup& group : *trace.config) {
    if (group.name != mention.name || group.ranks.empty()) continue;
    Members members = to_members(group.ranks);
    if (!compatible(members, visible, mention.size)) continue;
    const int64_t size = static_cast<int64_t>(members.size());
    return found(std::move(members), size, MembersSource::process_group_config);
  }
  return std::nullopt;
}

std::optional<Found> from_own_trace(const TraceGroups& trace, const GroupMention& mention, int64_t world) {
  const RankList visible = parse_rank_list(mention.ranks);
  if (auto by_config = from_config(trace, mention, visible)) return by_config;
  const int64_t listed = static_cast<int64_t>(visible.ranks.size());
  if (!visible.cut && listed > 0 && (mention.size < 0 || mention.size == listed)) {
    return found(to_members(visible.ranks), listed, MembersSource::call_ranks);
  }
  if (auto by_stride = progression(mention.rank_start, mention.rank_stride, mention.size, world)) {
    if (compatible(by_stride->members, visible, mention.size)) return by_stride;
  }
  return visible.cut ? continued(visible.ranks, mention.size, world) : std::nullopt;
}

// Mentions without members, pooled over traces.
using PoolKey = std::tuple<std::string, std::vector<int64_t>, int64_t, int64_t>;  // name, prefix, start, size

struct Pool {
  Members observed;                                 // ranks that mention it, and the visible ones
  std::vector<std::pair<size_t, size_t>> mentions;  // (trace, mention)
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
    for (auto& [key, pool] : pools_) resolve_pool(key, pool);
    build_table();
    return std::move(result_);
  }

 private:
  void resolve_alone(size_t t, size_t m) {
    const TraceGroups& trace = traces_[t];
    const GroupMention& mention = (*trace.mentions)[m];
    found_[t][m] = from_own_trace(trace, mention, world_);
    if (found_[t][m]) {
      check_own_rank(trace, mention, *found_[t][m]);
      return;
    }
    const RankList visible = parse_rank_list(mention.ranks);
    Pool& pool = pools_[{mention.name, visible.ranks, mention.rank_start, mention.size}];
    pool.mentions.emplace_back(t, m);
    if (!trace.synthetic) pool.observed.push_back(trace.rank);
    const Members listed = to_members(visible.ranks);
    pool.observed.insert(pool.observed.end(), listed.begin(), listed.end());
  }

  void check_own_rank(const TraceGroups& trace, const GroupMention& mention, const Found& group) {
    if (trace.synthetic || contains(group.members, trace.rank)) return;
    add_finding(result_.findings, {Severity::warning, "rank-not-in-group", trace.file, trace.rank, -1, 1,
                                   "calls of group \"" + mention.name + "\", whose members do not include rank " +
                                       std::to_string(trace.rank.value) + "; the file's rank may be wrong"});
  }

  // The one list of that name and size, in any trace, that holds the rank.
  std::optional<Found> from_other_traces(Rank rank, const PoolKey& key) const {
    std::optional<Members> only;
    for (const TraceGroups& other : traces_) {
      if (other.config == nullptr) continue;
      for (const ProcessGroup& group : *other.config) {
        if (group.name != std::get<0>(key) || group.ranks.empty()) continue;
        Members members = to_members(group.ranks);
        if (!compatible(members, {std::get<1>(key), true}, std::get<3>(key)) || !contains(members, rank)) continue;
        if (only && *only != members) return std::nullopt;
        only = std::move(members);
      }
    }
    if (!only) return std::nullopt;
    const int64_t size = static_cast<int64_t>(only->size());
    return found(std::move(*only), size, MembersSource::process_group_config);
  }

  void resolve_pool(const PoolKey& key, Pool& pool) {
    Members& observed = pool.observed;
    std::sort(observed.begin(), observed.end());
    observed.erase(std::unique(observed.begin(), observed.end()), observed.end());
    const int64_t size = std::get<3>(key);
    const bool several = size >= 0 && static_cast<int64_t>(observed.size()) > size;
    int64_t open = 0;
    for (const auto& [t, m] : pool.mentions) {
      if (!traces_[t].synthetic) found_[t][m] = from_other_traces(traces_[t].rank, key);
      if (found_[t][m]) continue;
      ++open;
      if (!several) found_[t][m] = found(observed, size, MembersSource::observed);
    }
    if (several && open > 0) {
      result_.findings.push_back(
          {Severity::warning, "ambiguous-group", "", Rank(), -1, open,
           "more ranks mention group \"" + std::get<0>(key) + "\" than its size of " + std::to_string(size) +
               "; its members are not listed; calls are matched where their times prove the group"});
    } else if (open > 0 && size != static_cast<int64_t>(observed.size())) {
      result_.findings.push_back({Severity::info, "members-unknown", "", Rank(), -1, open,
                                  "group \"" + std::get<0>(key) + "\" has " + std::to_string(size) + " members, " +
                                      std::to_string(observed.size()) + " are known; instances are lower bounds"});
    }
  }

  // Partly known groups differ by size too. Sorted by (members, name) by construction.
  using Identity = std::tuple<Members, std::string, int32_t>;

  void build_table() {
    std::map<Identity, Communicator> table;
    const auto identity = [&](size_t t, size_t m) {
      return Identity{found_[t][m]->members, (*traces_[t].mentions)[m].name, found_[t][m]->size};
    };
    for (size_t t = 0; t < traces_.size(); ++t) {
      for (size_t m = 0; m < found_[t].size(); ++m) {
        if (!found_[t][m]) continue;
        const GroupMention& mention = (*traces_[t].mentions)[m];
        Communicator& c = table[identity(t, m)];
        const bool first = c.size == 0;
        c.name = mention.name;
        c.members = found_[t][m]->members;
        c.size = found_[t][m]->size;
        c.source = first ? found_[t][m]->source : std::min(c.source, found_[t][m]->source);
        c.description = first ? mention.description : std::max(c.description, mention.description);
      }
    }
    std::map<Identity, CommunicatorId> ids;
    for (auto& [key, communicator] : table) {
      ids.emplace(key, CommunicatorId(static_cast<int64_t>(ids.size())));
      result_.communicators.communicators.push_back(std::move(communicator));
    }
    for (size_t t = 0; t < traces_.size(); ++t) {
      result_.of_mention.emplace_back();
      for (size_t m = 0; m < found_[t].size(); ++m) {
        result_.of_mention[t].push_back(found_[t][m] ? ids.at(identity(t, m)) : CommunicatorId());
      }
    }
  }

  const std::vector<TraceGroups>& traces_;
  const int64_t world_;
  std::vector<std::vector<std::optional<Found>>> found_;  // [trace][mention]
  std::map<PoolKey, Pool> pools_;
  ResolvedGroups result_;
};

}  // namespace

RankList parse_rank_list(const std::string& text) {
  RankList list;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int64_t rank = 0;
    const auto [after, failed] = std::from_chars(at, end, rank);
    if (failed == std::errc()) list.ranks.push_back(rank);
    at = after == at ? at + 1 : after;  // behind a number, even one too large to be a rank
  }
  list.cut = text.find("..") != std::string::npos;
  return list;
}

ResolvedGroups resolve_groups(const std::vector<TraceGroups>& traces, int32_t world_size) {
  return GroupResolver(traces, std::min<int64_t>(world_size, kLargestGroup)).resolve();
}

}  // namespace skewscope::ingest
