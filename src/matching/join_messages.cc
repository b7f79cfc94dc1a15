#include "join_messages.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <span>

#include "skewscope/base/disjoint_sets.h"

namespace skewscope::matching {
namespace {

// A matched message: an instance of a pair's group.
struct Message {
  uint32_t group, instance;
  uint32_t from, to;  // its ends, of the calls
  bool taken;         // it is part of another instance
};

// What the messages of one communicator join.
struct Joined {
  MatchedGroup batches;
  std::vector<CallRef> matched;  // by call: of which messages outside of the groups were unmatched
};

// Joins the messages of one communicator in one session: all of a call's messages are there.
class Joiner {
 public:
  // `ungrouped`: calls of messages that are in no group, sorted.
  Joiner(const JobTrace& job, std::span<MatchedGroup> groups, const std::vector<CallRef>& ungrouped)
      : groups_(groups), ungrouped_(ungrouped) {
    joined_.batches.key.session = groups.front().key.session;
    joined_.batches.key.communicator = groups.front().key.communicator;
    collect(job);
    count_left();
  }

  Joined join() {
    if (nothing_is_shared()) return std::move(joined_);
    order_by_component();
    for (size_t low = 0, high = 0; low < order_.size(); low = high) {
      const size_t root = root_of(order_[low]);
      while (high < order_.size() && root_of(order_[high]) == root) ++high;
      join(std::span(order_).subspan(low, high - low));
    }
    drop_taken();
    forget_matched();
    return std::move(joined_);
  }

 private:
  const CollectiveInstance& instance(const Message& m) const { return groups_[m.group].instances[m.instance]; }
  size_t number_of(const CallRef& ref) const {
    return static_cast<size_t>(std::lower_bound(calls_.begin(), calls_.end(), ref) - calls_.begin());
  }
  size_t root_of(uint32_t message) { return sets_.root(messages_[message].from); }

  void collect(const JobTrace& job) {
    for (const MatchedGroup& group : groups_) {
      for (const CollectiveInstance& i : group.instances) {
        calls_.insert(calls_.end(), {group.members[i.first_member], group.members[i.first_member + 1]});
      }
    }
    std::sort(calls_.begin(), calls_.end());
    calls_.erase(std::unique(calls_.begin(), calls_.end()), calls_.end());
    spans_.resize(calls_.size());
    sets_ = DisjointSets(calls_.size());
    for (uint32_t g = 0; g < groups_.size(); ++g) {
      const MatchedGroup& group = groups_[g];
      for (uint32_t i = 0; i < group.instances.size(); ++i) {
        const size_t first = group.instances[i].first_member;
        uint32_t ends[2];
        for (const size_t k : {0, 1}) {
          ends[k] = static_cast<uint32_t>(number_of(group.members[first + k]));
          spans_[ends[k]] = group.spans[first + k];
        }
        if (job[group.members[first].trace].rank.value != group.key.from) std::swap(ends[0], ends[1]);
        sets_.unite(ends[0], ends[1]);
        messages_.push_back({g, i, ends[0], ends[1], false});
      }
    }
  }

  void count_left() {
    matched_.assign(calls_.size(), false);
    left_.assign(calls_.size(), 0);
    for (const MatchedGroup& group : groups_) {
      for (const UnmatchedCall& left : group.unmatched) {
        const size_t call = number_of(left.call);
        if (call < calls_.size() && calls_[call] == left.call) ++left_[call];
      }
    }
    for (size_t call = 0; call < calls_.size() && !ungrouped_.empty(); ++call) {
      const auto [begin, end] = std::equal_range(ungrouped_.begin(), ungrouped_.end(), calls_[call]);
      left_[call] += static_cast<int32_t>(end - begin);
    }
  }

  // Whether each call is in one message, which has its partner.
  bool nothing_is_shared() const {
    return calls_.size() == 2 * messages_.size() &&
           std::all_of(left_.begin(), left_.end(), [](int32_t left) { return left == 0; });
  }

  void order_by_component() {
    for (uint32_t m = 0; m < messages_.size(); ++m) order_.push_back(m);
    std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return root_of(a) < root_of(b); });
  }

  void join(std::span<const uint32_t> component) {
    const Message& first = messages_[component.front()];
    const auto same_calls = [&](uint32_t m) {
      return std::minmax(messages_[m].from, messages_[m].to) == std::minmax(first.from, first.to);
    };
    const bool both_ways = instance(first).kind == CollectiveKind::send_recv;
    if (both_ways && std::all_of(component.begin(), component.end(), same_calls)) {
      for (const uint32_t m : component.subspan(1)) messages_[m].taken = true;
      matched_[first.from] = matched_[first.to] = true;
      return;
    }
    if (component.size() == 1 && left_[first.from] + left_[first.to] == 0) return;
    for (const uint32_t m : component) messages_[m].taken = true;
    add_batch(component);
  }

  void add_batch(std::span<const uint32_t> component) {
    MatchedGroup& group = joined_.batches;
    std::vector<uint32_t> calls;  // by trace
    for (const uint32_t m : component) calls.insert(calls.end(), {messages_[m].from, messages_[m].to});
    std::sort(calls.begin(), calls.end());
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
    const auto of_one_trace = [&](uint32_t a, uint32_t b) { return calls_[a].trace == calls_[b].trace; };
    if (std::adjacent_find(calls.begin(), calls.end(), of_one_trace) != calls.end()) {
      for (const uint32_t call : calls) {
        group.unmatched.push_back({calls_[call], UnmatchedReason::chained, StringId()});
      }
      return;
    }
    const Message& any = messages_[component.front()];
    CollectiveInstance batch;
    batch.communicator = group.key.communicator;
    batch.session = group.key.session;
    batch.kind = CollectiveKind::coalesced;
    batch.first_member = static_cast<uint32_t>(group.members.size());
    batch.member_count = static_cast<uint32_t>(calls.size());
    batch.expected = static_cast<int32_t>(calls.size());
    for (const uint32_t call : calls) {
      group.members.push_back(calls_[call]);
      group.spans.push_back(spans_[call]);
      batch.expected += left_[call];
      matched_[call] = true;
    }
    batch.complete = batch.expected == static_cast<int32_t>(batch.member_count);
    batch.dtype = instance(any).dtype;
    batch.method = instance(any).method;
    const auto row_of = [&](uint32_t call) {
      return batch.first_member +
             static_cast<uint32_t>(std::lower_bound(calls.begin(), calls.end(), call) - calls.begin());
    };
    const auto links = static_cast<ptrdiff_t>(group.links.size());
    int64_t time_ns = INT64_MAX;
    for (const uint32_t m : component) {
      const Message& message = messages_[m];
      const CollectiveInstance& one = instance(message);
      const uint32_t from = row_of(message.from), to = row_of(message.to);
      group.links.insert(group.links.end(), {{to, from, true}, {from, to, false}});
      batch.bytes = std::max(batch.bytes, one.bytes);
      batch.sizes_differ = batch.sizes_differ || one.sizes_differ;
      batch.method = std::max(batch.method, one.method);
      if (one.dtype != batch.dtype) batch.dtype = DType::unknown;
      time_ns = std::min(time_ns, groups_[message.group].time_ns[message.instance]);
    }
    std::sort(group.links.begin() + links, group.links.end());
    group.instances.push_back(batch);
    group.time_ns.push_back(time_ns);
  }

  // Takes the messages that are part of something else out of their groups.
  void drop_taken() {
    auto message = messages_.begin();
    for (MatchedGroup& group : groups_) {
      size_t kept = 0;
      for (size_t i = 0; i < group.instances.size(); ++i, ++message) {
        if (message->taken) continue;
        group.instances[kept] = group.instances[i];
        group.time_ns[kept++] = group.time_ns[i];
      }
      group.instances.resize(kept);
      group.time_ns.resize(kept);
      if (kept == 0) group = {group.key, {}, {}, {}, {}, {}, {}, std::move(group.unmatched)};  // frees the rows
    }
  }

  void forget_matched() {
    for (MatchedGroup& group : groups_) {
      std::erase_if(group.unmatched, [&](const UnmatchedCall& left) {
        const size_t call = number_of(left.call);
        return call < calls_.size() && calls_[call] == left.call && matched_[call];
      });
    }
    for (size_t call = 0; call < calls_.size(); ++call) {
      if (matched_[call] && left_[call] > 0) joined_.matched.push_back(calls_[call]);
    }
  }

  std::span<MatchedGroup> groups_;
  const std::vector<CallRef>& ungrouped_;
  std::vector<Message> messages_;  // by group
  std::vector<CallRef> calls_;     // their ends, sorted
  std::vector<CallSpan> spans_;    // per call
  std::vector<int32_t> left_;      // per call: its messages without a partner
  std::vector<bool> matched_;      // per call: what messages it may have left do not make it unmatched
  DisjointSets sets_{0};           // of calls that messages join
  std::vector<uint32_t> order_;    // messages, by set
  Joined joined_;
};

// The groups of pairs of each communicator and session: they lie side by side.
std::vector<std::span<MatchedGroup>> pairs_of(std::vector<MatchedGroup>& groups) {
  std::vector<std::span<MatchedGroup>> pairs;
  const auto together = [](const GroupKey& a, const GroupKey& b) {
    return a.pair() && b.pair() && a.session == b.session && a.communicator == b.communicator;
  };
  for (size_t low = 0, high = 0; low < groups.size(); low = high) {
    while (high < groups.size() && (high == low || together(groups[low].key, groups[high].key))) ++high;
    if (groups[low].key.pair()) pairs.push_back(std::span(groups).subspan(low, high - low));
  }
  return pairs;
}

}  // namespace

void join_messages(const JobTrace& job, std::vector<MatchedGroup>& groups, std::vector<UnmatchedCall>& ungrouped) {
  const std::vector<std::span<MatchedGroup>> pairs = pairs_of(groups);
  if (pairs.empty()) return;
  std::vector<CallRef> left;
  for (const UnmatchedCall& one : ungrouped) left.push_back(one.call);
  std::sort(left.begin(), left.end());
  std::vector<Joined> joined(pairs.size());
  tbb::parallel_for(size_t{0}, pairs.size(), [&](size_t c) { joined[c] = Joiner(job, pairs[c], left).join(); });
  std::vector<CallRef> matched;
  for (Joined& one : joined) {
    matched.insert(matched.end(), one.matched.begin(), one.matched.end());
    if (!one.batches.instances.empty() || !one.batches.unmatched.empty()) groups.push_back(std::move(one.batches));
  }
  std::sort(matched.begin(), matched.end());
  std::erase_if(ungrouped,
                [&](const UnmatchedCall& one) { return std::binary_search(matched.begin(), matched.end(), one.call); });
}

}  // namespace skewscope::matching
