#include "join_messages.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "skewscope/base/disjoint_sets.h"

namespace skewscope::matching {
namespace {

// A matched message: an instance of a pair's group.
struct Message {
  size_t group, instance;
  CallRef from, to;
  CallSpan from_span, to_span;
};

class Joiner {
 public:
  Joiner(const JobTrace& job, std::vector<MatchedGroup>& groups, std::vector<UnmatchedCall>& ungrouped)
      : job_(job), groups_(groups), ungrouped_(ungrouped) {}

  void join() {
    collect();
    if (nothing_is_shared()) return;
    const std::map<size_t, std::vector<size_t>> components = components_of_messages();
    for (const auto& [root, messages] : components) join(messages);
    for (auto& [key, group] : joined_) groups_.push_back(std::move(group));
    drop_taken();
    forget_matched();
  }

 private:
  const CollectiveInstance& instance(const Message& m) const { return groups_[m.group].instances[m.instance]; }

  void collect() {
    for (size_t g = 0; g < groups_.size(); ++g) {
      const MatchedGroup& group = groups_[g];
      if (!group.key.pair()) continue;
      for (size_t i = 0; i < group.instances.size(); ++i) {
        const size_t first = group.instances[i].first_member;
        const bool sends = job_[group.members[first].trace].rank.value == group.key.from;
        const size_t from = first + (sends ? 0 : 1), to = first + (sends ? 1 : 0);
        messages_.push_back({g, i, group.members[from], group.members[to], group.spans[from], group.spans[to]});
      }
      for (const UnmatchedCall& left : group.unmatched) ++left_[left.call];
    }
    for (const UnmatchedCall& left : ungrouped_) ++left_[left.call];
  }

  std::vector<CallRef> ends_of_messages() const {
    std::vector<CallRef> ends;
    for (const Message& m : messages_) ends.insert(ends.end(), {m.from, m.to});
    std::sort(ends.begin(), ends.end());
    return ends;
  }

  // Whether each call is in one message, which has its partner.
  bool nothing_is_shared() const {
    const std::vector<CallRef> ends = ends_of_messages();
    if (std::adjacent_find(ends.begin(), ends.end()) != ends.end()) return false;
    return std::none_of(ends.begin(), ends.end(), [&](const CallRef& ref) { return left_of(ref) > 0; });
  }

  // Messages by the set of calls that they join.
  std::map<size_t, std::vector<size_t>> components_of_messages() const {
    std::vector<CallRef> calls = ends_of_messages();
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
    const auto number = [&](const CallRef& ref) {
      return static_cast<size_t>(std::lower_bound(calls.begin(), calls.end(), ref) - calls.begin());
    };
    DisjointSets sets(calls.size());
    for (const Message& m : messages_) sets.unite(number(m.from), number(m.to));
    std::map<size_t, std::vector<size_t>> components;
    for (size_t i = 0; i < messages_.size(); ++i) components[sets.root(number(messages_[i].from))].push_back(i);
    return components;
  }

  int64_t left_of(const CallRef& ref) const {
    const auto left = left_.find(ref);
    return left == left_.end() ? 0 : left->second;
  }

  void join(const std::vector<size_t>& component) {
    const Message& first = messages_[component.front()];
    const auto same_calls = [&](size_t i) {
      const Message& m = messages_[i];
      return std::minmax(m.from, m.to) == std::minmax(first.from, first.to);
    };
    const bool both_ways = instance(first).kind == CollectiveKind::send_recv;
    if (std::all_of(component.begin(), component.end(), same_calls) && both_ways) {
      for (size_t k = 1; k < component.size(); ++k) taken_.insert({first_of(component[k])});
      matched_.insert({first.from, first.to});
      return;
    }
    if (component.size() == 1 && left_of(first.from) + left_of(first.to) == 0) return;
    for (const size_t i : component) taken_.insert(first_of(i));
    add_batch(component);
  }

  std::pair<size_t, size_t> first_of(size_t message) const {
    return {messages_[message].group, messages_[message].instance};
  }

  void add_batch(const std::vector<size_t>& component) {
    std::map<CallRef, CallSpan> calls;
    std::set<TraceIndex> traces;
    for (const size_t i : component) {
      const Message& m = messages_[i];
      calls.insert({{m.from, m.from_span}, {m.to, m.to_span}});
      traces.insert({m.from.trace, m.to.trace});
    }
    GroupKey key;
    key.session = groups_[messages_[component.front()].group].key.session;
    key.communicator = groups_[messages_[component.front()].group].key.communicator;
    MatchedGroup& group = joined_[key];
    group.key = key;
    if (calls.size() > traces.size()) {
      for (const auto& [ref, span] : calls) group.unmatched.push_back({ref, UnmatchedReason::chained, StringId()});
      return;
    }
    CollectiveInstance batch;
    batch.communicator = key.communicator;
    batch.session = key.session;
    batch.kind = CollectiveKind::coalesced;
    batch.first_member = static_cast<uint32_t>(group.members.size());
    batch.member_count = static_cast<uint32_t>(calls.size());
    batch.expected = static_cast<int32_t>(calls.size());
    std::map<CallRef, uint32_t> rows;
    for (const auto& [ref, span] : calls) {
      rows[ref] = static_cast<uint32_t>(group.members.size());
      group.members.push_back(ref);
      group.spans.push_back(span);
      batch.expected += static_cast<int32_t>(left_of(ref));
      matched_.insert(ref);
    }
    batch.complete = batch.expected == static_cast<int32_t>(batch.member_count);
    const Message& any = messages_[component.front()];
    int64_t time_ns = INT64_MAX;
    batch.dtype = instance(any).dtype;
    batch.method = instance(any).method;
    std::vector<BatchLink> links;
    for (const size_t i : component) {
      const Message& m = messages_[i];
      const CollectiveInstance& one = instance(m);
      links.push_back({rows.at(m.to), rows.at(m.from), true});
      links.push_back({rows.at(m.from), rows.at(m.to), false});
      batch.bytes = std::max(batch.bytes, one.bytes);
      batch.sizes_differ = batch.sizes_differ || one.sizes_differ;
      batch.method = std::max(batch.method, one.method);
      if (one.dtype != batch.dtype) batch.dtype = DType::unknown;
      time_ns = std::min(time_ns, groups_[m.group].time_ns[m.instance]);
    }
    std::sort(links.begin(), links.end());
    group.links.insert(group.links.end(), links.begin(), links.end());
    group.instances.push_back(batch);
    group.time_ns.push_back(time_ns);
  }

  // Takes the messages that are part of something else out of their groups.
  void drop_taken() {
    for (size_t g = 0; g < groups_.size(); ++g) {
      MatchedGroup& group = groups_[g];
      size_t kept = 0;
      for (size_t i = 0; i < group.instances.size(); ++i) {
        if (taken_.count({g, i}) > 0) continue;
        group.instances[kept] = group.instances[i];
        group.time_ns[kept++] = group.time_ns[i];
      }
      group.instances.resize(kept);
      group.time_ns.resize(kept);
    }
  }

  void forget_matched() {
    if (matched_.empty()) return;
    const auto matched = [&](const UnmatchedCall& left) { return matched_.count(left.call) > 0; };
    std::erase_if(ungrouped_, matched);
    for (MatchedGroup& group : groups_) std::erase_if(group.unmatched, matched);
  }

  const JobTrace& job_;
  std::vector<MatchedGroup>& groups_;
  std::vector<UnmatchedCall>& ungrouped_;
  std::vector<Message> messages_;
  std::map<CallRef, int64_t> left_;            // per call: its messages without a partner
  std::set<std::pair<size_t, size_t>> taken_;  // group and instance
  std::set<CallRef> matched_;                  // calls of which others of their messages may be unmatched
  std::map<GroupKey, MatchedGroup> joined_;
};

}  // namespace

void join_messages(const JobTrace& job, std::vector<MatchedGroup>& groups, std::vector<UnmatchedCall>& ungrouped) {
  const bool any = std::any_of(groups.begin(), groups.end(), [](const MatchedGroup& g) { return g.key.pair(); });
  if (any) Joiner(job, groups, ungrouped).join();
}

}  // namespace skewscope::matching
