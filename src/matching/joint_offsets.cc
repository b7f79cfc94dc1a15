#include "joint_offsets.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>

#include "skewscope/base/disjoint_sets.h"
#include "skewscope/base/middle.h"

namespace skewscope::matching {
namespace {

constexpr size_t kMostCalls = 1024;          // of one group that a component is asked for
constexpr int64_t kEndTogether = 50'000;     // ns; ends that scatter by more tie nothing
constexpr int64_t kEqualClocks = 1'000'000;  // ns
constexpr size_t kLeastTogether = 3, kLeastCausal = 5;

// One call of a group, as a component's member with most calls saw it, on the component's clock.
struct Seen {
  GroupKey group;
  int32_t component = -1;
  uint64_t signature = 0;
  int64_t step = -1;
  int64_t start_ns = 0, end_ns = 0;
  bool sends = false, ends_together = false, of_batch = false;
  int32_t ordinal = 0, of = 0;  // among the component's of this group, signature and step
};

auto place_of(const Seen& seen) {
  return std::tie(seen.group, seen.component, seen.signature, seen.step, seen.end_ns, seen.start_ns);
}

void add_calls(const MemberCalls& calls, const GroupKey& group, int32_t component, int64_t offset_ns,
               std::vector<Seen>& out) {
  for (size_t c = 0; c < std::min(calls.size(), kMostCalls); ++c) {
    const MatchCall& call = calls[c];
    if (call.step < 0 || call.bare) continue;
    out.push_back({group, component, call.signature, call.step, call.start_ns + offset_ns, call.end_ns + offset_ns,
                   call.kind == CollectiveKind::send, call.ends_together, call.of_batch, 0, 0});
  }
}

// Per component of the group: its member with most calls.
void add_group(const CallGroup& group, const CoarseOffsets& coarse, std::vector<Seen>& out) {
  const auto component = [&](size_t m) { return coarse.component[group.members[m].index()]; };
  std::map<int32_t, size_t> best;
  for (size_t m = 0; m < group.members.size(); ++m) {
    if (group.calls[m].empty()) continue;
    const auto [at, fresh] = best.emplace(component(m), m);
    if (!fresh && group.calls[m].size() > group.calls[at->second].size()) at->second = m;
  }
  if (best.size() < 2) return;
  const std::vector<MemberCalls> view = group.matcher_view();
  for (const auto& [of, m] : best) add_calls(view[m], group.key, of, coarse.offset_ns[group.members[m].index()], out);
}

std::vector<Seen> collect(const std::vector<CallGroup>& groups, const std::vector<MatchOutcome>& outcomes,
                          const CoarseOffsets& coarse, Exchange& exchange) {
  std::vector<Seen> seen;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (!outcomes[g].settled && groups[g].membership == Membership::known) add_group(groups[g], coarse, seen);
  }
  seen = all_rows(exchange, std::move(seen));
  std::sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) { return place_of(a) < place_of(b); });
  const auto alike = [](const Seen& a, const Seen& b) {
    return std::tie(a.group, a.component, a.signature, a.step) == std::tie(b.group, b.component, b.signature, b.step);
  };
  for (size_t low = 0, high = 0; low < seen.size(); low = high) {
    while (high < seen.size() && alike(seen[low], seen[high])) ++high;
    for (size_t k = low; k < high; ++k) {
      seen[k].ordinal = static_cast<int32_t>(k - low);
      seen[k].of = static_cast<int32_t>(high - low);
    }
  }
  return seen;
}

// The calls of one component in one group: rows of the sorted ones.
struct Block {
  const Seen *begin, *end;
};

struct Shared {
  std::vector<std::pair<Block, Block>> blocks;  // of the groups that two components share
};

using Pairs = std::map<std::pair<int32_t, int32_t>, Shared>;

// Pairs of components: of a group with more than two of them, all with its first; and what each pair shares.
Pairs pairs_of(const std::vector<Seen>& seen) {
  std::map<int32_t, std::map<GroupKey, Block>> of_component;
  std::vector<std::pair<int32_t, int32_t>> tried;
  for (const Seen* low = seen.data(); low != seen.data() + seen.size();) {
    const Seen* const last = seen.data() + seen.size();
    std::vector<int32_t> components;
    const GroupKey group = low->group;
    while (low != last && low->group == group) {
      const Seen* high = low;
      while (high != last && high->group == group && high->component == low->component) ++high;
      of_component[low->component].emplace(group, Block{low, high});
      components.push_back(low->component);
      low = high;
    }
    for (size_t k = 1; k < components.size(); ++k) tried.emplace_back(components.front(), components[k]);
  }
  Pairs pairs;
  for (const auto& pair : tried) {
    const auto [at, fresh] = pairs.emplace(pair, Shared());
    if (!fresh) continue;
    const auto &first = of_component.at(pair.first), &second = of_component.at(pair.second);
    const auto &fewer = first.size() <= second.size() ? first : second, &more = &fewer == &first ? second : first;
    for (const auto& [group, block] : fewer) {
      const auto other = more.find(group);
      if (other == more.end()) continue;
      at->second.blocks.emplace_back(&fewer == &first ? block : other->second,
                                     &fewer == &first ? other->second : block);
    }
  }
  return pairs;
}

struct Offset {
  int64_t ns = 0;  // the first component's clock minus the second's
  size_t pairs = 0;
};

// What the calls of two components say.
class Evidence {
 public:
  void add(const Block& first, const Block& second) {
    const Seen* b = second.begin;
    const auto key = [](const Seen& s) { return std::tie(s.signature, s.step, s.ordinal); };
    for (const Seen* a = first.begin; a != first.end; ++a) {
      while (b != second.end && key(*b) < key(*a)) ++b;
      if (b != second.end && key(*a) == key(*b) && a->of == b->of) add_pair(*a, *b);
    }
    equal_ += equal_ends(first, second);
  }

  std::optional<Offset> offset() const {
    const int64_t slack_ns = static_cast<int64_t>(kMostDrift * static_cast<double>(to_ns_ - from_ns_));
    if (pairs_ < kLeastTogether || low_ns_ > high_ns_ + slack_ns) return std::nullopt;
    std::optional<int64_t> offset_ns;
    if (differences_.size() >= kLeastTogether) offset_ns = by_ends(slack_ns);
    if (!offset_ns && pairs_ >= kLeastCausal && high_ns_ - low_ns_ <= kEqualClocks)
      offset_ns = low_ns_ + (high_ns_ - low_ns_) / 2;
    if (!offset_ns || (std::llabs(*offset_ns) > kEqualClocks && 2 * equal_ >= pairs_)) return std::nullopt;
    return Offset{*offset_ns, pairs_};
  }

 private:
  // Who waits for the other has not left before that one came.
  void add_pair(const Seen& a, const Seen& b) {
    ++pairs_;
    const bool all_wait = a.ends_together && b.ends_together;
    if (all_wait || b.sends) high_ns_ = std::min(high_ns_, a.end_ns - b.start_ns);
    if (all_wait || a.sends) low_ns_ = std::max(low_ns_, a.start_ns - b.end_ns);
    if (!a.of_batch && !b.of_batch) differences_.push_back(a.end_ns - b.end_ns);
    from_ns_ = std::min(from_ns_, a.start_ns);
    to_ns_ = std::max(to_ns_, a.end_ns);
  }

  std::optional<int64_t> by_ends(int64_t slack_ns) const {
    std::vector<int64_t> sorted = differences_;
    const int64_t offset_ns = take_middle(sorted);
    const auto together = static_cast<size_t>(std::count_if(sorted.begin(), sorted.end(), [&](int64_t difference_ns) {
      return std::llabs(difference_ns - offset_ns) <= kEndTogether + slack_ns;
    }));
    const int64_t beyond_ns = kEndTogether + slack_ns;
    if (offset_ns < low_ns_ - beyond_ns || offset_ns > high_ns_ + beyond_ns) return std::nullopt;
    return together >= kLeastTogether && 2 * together > sorted.size() ? std::optional(offset_ns) : std::nullopt;
  }

  // Calls of one signature, whatever their steps, that end together on the clocks as recorded.
  static size_t equal_ends(const Block& first, const Block& second) {
    const auto ends = [](const Block& block) {
      std::vector<std::pair<uint64_t, int64_t>> sorted;
      for (const Seen* s = block.begin; s != block.end; ++s) sorted.emplace_back(s->signature, s->end_ns);
      std::sort(sorted.begin(), sorted.end());
      return sorted;
    };
    const auto own = ends(first), others = ends(second);
    size_t equal = 0;
    auto other = others.begin();
    for (const auto& [signature, end_ns] : own) {
      while (other != others.end() && *other < std::pair(signature, end_ns - kEndTogether)) ++other;
      if (other == others.end() || *other > std::pair(signature, end_ns + kEndTogether)) continue;
      ++equal;
      ++other;
    }
    return equal;
  }

  size_t pairs_ = 0, equal_ = 0;
  int64_t low_ns_ = INT64_MIN / 4, high_ns_ = INT64_MAX / 4;  // that cause and effect allow
  int64_t from_ns_ = INT64_MAX / 4, to_ns_ = INT64_MIN / 4;
  std::vector<int64_t> differences_;  // of ends
};

struct BelievedOffset {
  int32_t first, second;
  Offset offset;
};

// Those with most pairs first, as far as they join components.
std::vector<BelievedOffset> believed(const Pairs& pairs) {
  std::vector<BelievedOffset> edges;
  for (const auto& [pair, shared] : pairs) {
    Evidence evidence;
    for (const auto& [first, second] : shared.blocks) evidence.add(first, second);
    if (const auto offset = evidence.offset()) edges.push_back({pair.first, pair.second, *offset});
  }
  std::sort(edges.begin(), edges.end(), [](const BelievedOffset& a, const BelievedOffset& b) {
    return std::tie(b.offset.pairs, a.first, a.second) < std::tie(a.offset.pairs, b.first, b.second);
  });
  return edges;
}

}  // namespace

void join_components(const std::vector<CallGroup>& groups, const std::vector<MatchOutcome>& outcomes,
                     Exchange& exchange, CoarseOffsets& coarse) {
  const std::vector<Seen> seen = collect(groups, outcomes, coarse, exchange);
  const std::vector<BelievedOffset> edges = believed(pairs_of(seen));
  if (edges.empty()) return;
  const size_t traces = coarse.component.size();
  DisjointSets sets(traces);
  std::vector<std::vector<std::pair<int32_t, int64_t>>> tree(traces);  // neighbour, what its clock lacks
  for (const BelievedOffset& e : edges) {
    if (!sets.unite(static_cast<size_t>(e.first), static_cast<size_t>(e.second))) continue;
    tree[static_cast<size_t>(e.first)].emplace_back(e.second, e.offset.ns);
    tree[static_cast<size_t>(e.second)].emplace_back(e.first, -e.offset.ns);
  }
  std::vector<int64_t> later_ns(traces, 0);  // per component that was
  std::vector<int32_t> joined(traces, -1);
  for (size_t start = 0; start < traces; ++start) {
    if (joined[start] >= 0) continue;
    joined[start] = static_cast<int32_t>(start);
    std::vector<size_t> open{start};
    while (!open.empty()) {
      const size_t c = open.back();
      open.pop_back();
      for (const auto& [next, lacks_ns] : tree[c]) {
        const auto n = static_cast<size_t>(next);
        if (joined[n] >= 0) continue;
        joined[n] = static_cast<int32_t>(start);
        later_ns[n] = later_ns[c] + lacks_ns;
        open.push_back(n);
      }
    }
  }
  for (size_t t = 0; t < traces; ++t) {
    const auto c = static_cast<size_t>(coarse.component[t]);
    coarse.offset_ns[t] += later_ns[c];
    coarse.component[t] = joined[c];
  }
}

}  // namespace skewscope::matching
