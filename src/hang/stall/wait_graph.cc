#include "src/hang/stall/wait_graph.h"

#include <algorithm>
#include <unordered_map>

namespace skewscope::hang {
namespace {

constexpr size_t kMostWaitedFor = 4096;  // of one rank; who did not enter comes first

// Nobody completes one of these before all entered.
bool needs_all(DumpedOp op) {
  return op == DumpedOp::all_reduce || op == DumpedOp::all_gather || op == DumpedOp::reduce_scatter ||
         op == DumpedOp::all_to_all || op == DumpedOp::barrier;
}

struct First {
  const DumpedCall* call = nullptr;
  int32_t group = -1;
  int64_t seq = -1;
};

// The rank's first call by record that is not completed; what the ring lost is earlier than all that it holds.
First first_pending(const GroupTable& table, int32_t rank) {
  const FlightDump& dump = *table.dump_of[static_cast<size_t>(rank)];
  const std::vector<int32_t>& group_of = table.group_of[static_cast<size_t>(rank)];
  for (const int32_t number : group_of) {
    if (number < 0) continue;
    const Member* member = table.groups[static_cast<size_t>(number)].member(rank);
    if (member->evicted && member->dump == &dump) return {nullptr, number, member->first_pending};
  }
  for (const DumpedCall& call : dump.calls) {
    if (call.state == CallState::completed) continue;
    const int32_t group = group_of[static_cast<size_t>(call.group)];
    if (group < 0) continue;
    return {&call, group, call.p2p ? -1 : call.collective_seq};
  }
  return {};
}

bool same_place(const Standing& standing, int32_t group, int64_t seq) {
  return standing.group == group && standing.seq == seq;
}

class Graph {
 public:
  Graph(const GroupTable& table, const std::vector<Mismatch>& mismatches) : table_(table) {
    for (const Mismatch& one : mismatches) mismatch_of_[one.group] = one.seq;
  }

  WaitGraph build() {
    out_.standing.resize(static_cast<size_t>(table_.ranks()));
    out_.waits_for.resize(out_.standing.size());
    for (int32_t rank = 0; rank < table_.ranks(); ++rank) {
      if (table_.dump_of[static_cast<size_t>(rank)] == nullptr) continue;
      const First first = first_pending(table_, rank);
      Standing& standing = out_.standing[static_cast<size_t>(rank)];
      standing.group = first.group;
      standing.seq = first.seq;
      standing.call = first.call;
    }
    find_stuck();
    for (int32_t rank = 0; rank < table_.ranks(); ++rank) wait(rank);
    return std::move(out_);
  }

 private:
  // Calls that a member holds as under way and another completed. Only where most completed it: one that is through
  // alone has entered something else.
  void find_stuck() {
    for (size_t g = 0; g < table_.groups.size(); ++g) {
      const Group& group = table_.groups[g];
      const auto mismatch = mismatch_of_.find(static_cast<int32_t>(g));
      for (const Member& member : group.members) {
        if (member.dump == nullptr || member.first_pending < 0) continue;
        if (mismatch != mismatch_of_.end() && mismatch->second <= member.first_pending) continue;
        const DumpedCall* call = member.call(member.first_pending);
        if (call == nullptr || !needs_all(call->op)) continue;
        note_stuck(static_cast<int32_t>(g), member);
      }
    }
  }

  void note_stuck(int32_t number, const Member& member) {
    const Group& group = table_.groups[static_cast<size_t>(number)];
    int64_t through = 0, pending = 0, furthest = 0;
    int32_t peer = -1;
    for (const Member& other : group.members) {
      if (other.dump == nullptr || other.entered < member.first_pending) continue;
      if (!other.completed(member.first_pending)) {
        ++pending;
        continue;
      }
      ++through;
      if (peer < 0) peer = other.rank;
      furthest = std::max(furthest,
                          (other.first_pending < 0 ? other.entered + 1 : other.first_pending) - member.first_pending);
    }
    if (through == 0 || through < pending) return;
    Standing& standing = out_.standing[static_cast<size_t>(member.rank)];
    standing.stuck_calls += static_cast<int32_t>(std::min<int64_t>(furthest, 1 << 20));
    if (standing.stuck()) return;
    standing.stuck_group = number;
    standing.stuck_seq = member.first_pending;
    standing.stuck_peer = peer;
  }

  void wait(int32_t rank) {
    Standing& standing = out_.standing[static_cast<size_t>(rank)];
    if (!standing.stands() || standing.stuck()) return;
    if (standing.seq < 0) {
      wait_for_peers(rank, standing);
    } else {
      wait_for_members(rank, standing);
    }
    std::vector<int32_t>& waits = out_.waits_for[static_cast<size_t>(rank)];
    for (const std::vector<int32_t>* part : {&standing.missing, &standing.without_dump, &standing.elsewhere}) {
      for (const int32_t other : *part) {
        if (waits.size() < kMostWaitedFor) waits.push_back(other);
      }
    }
  }

  void wait_for_members(int32_t rank, Standing& standing) const {
    for (const Member& member : table_.groups[static_cast<size_t>(standing.group)].members) {
      if (member.rank == rank) continue;
      if (member.dump == nullptr) {
        standing.without_dump.push_back(member.rank);
      } else if (member.entered < standing.seq) {
        standing.missing.push_back(member.rank);
      } else if (!member.completed(standing.seq) &&
                 !same_place(out_.standing[static_cast<size_t>(member.rank)], standing.group, standing.seq)) {
        standing.elsewhere.push_back(member.rank);
      }
    }
  }

  // Of each message of the batch that it is in: the other end.
  void wait_for_peers(int32_t rank, Standing& standing) const {
    const Group& group = table_.groups[static_cast<size_t>(standing.group)];
    for (const DumpedCall* message : group.member(rank)->messages) {
      const bool of_batch =
          message == standing.call || (standing.call->batch >= 0 && message->batch == standing.call->batch);
      if (!of_batch || message->state == CallState::completed) continue;
      if (message->peer < 0 || message->peer >= std::ssize(group.members)) continue;
      wait_for_peer(group, rank, message->op, group.members[static_cast<size_t>(message->peer)], standing);
    }
    for (std::vector<int32_t>* part : {&standing.missing, &standing.without_dump, &standing.elsewhere}) {
      std::sort(part->begin(), part->end());
      part->erase(std::unique(part->begin(), part->end()), part->end());
    }
  }

  void wait_for_peer(const Group& group, int32_t rank, DumpedOp op, const Member& peer, Standing& standing) const {
    if (peer.rank == rank) return;
    if (peer.dump == nullptr) return standing.without_dump.push_back(peer.rank);
    const DumpedOp counterpart = op == DumpedOp::send ? DumpedOp::recv : DumpedOp::send;
    const Standing& there = out_.standing[static_cast<size_t>(peer.rank)];
    for (const DumpedCall* message : peer.messages) {
      if (message->state == CallState::completed || message->op != counterpart || message->peer < 0) continue;
      if (message->peer >= std::ssize(group.members) || group.members[static_cast<size_t>(message->peer)].rank != rank)
        continue;
      const bool in_it = there.call != nullptr &&
                         (message == there.call || (message->batch >= 0 && message->batch == there.call->batch));
      if (!in_it) standing.elsewhere.push_back(peer.rank);
      return;
    }
    standing.missing.push_back(peer.rank);
  }

  const GroupTable& table_;
  std::unordered_map<int32_t, int64_t> mismatch_of_;
  WaitGraph out_;
};

// Tarjan's strongly connected components, without recursion; those without a way out.
std::vector<std::vector<int32_t>> last_sets(const std::vector<std::vector<int32_t>>& waits_for) {
  const size_t count = waits_for.size();
  std::vector<int32_t> order(count, -1), low(count, 0), set_of(count, -1), stack, path;
  std::vector<size_t> next(count, 0);
  std::vector<std::vector<int32_t>> sets;
  int32_t seen = 0;
  for (size_t begin = 0; begin < count; ++begin) {
    if (order[begin] >= 0) continue;
    path.push_back(static_cast<int32_t>(begin));
    while (!path.empty()) {
      const auto at = static_cast<size_t>(path.back());
      if (order[at] < 0) {
        order[at] = low[at] = seen++;
        stack.push_back(static_cast<int32_t>(at));
      }
      if (next[at] < waits_for[at].size()) {
        const auto to = static_cast<size_t>(waits_for[at][next[at]++]);
        if (order[to] < 0) {
          path.push_back(static_cast<int32_t>(to));
        } else if (set_of[to] < 0) {
          low[at] = std::min(low[at], order[to]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty())
        low[static_cast<size_t>(path.back())] = std::min(low[static_cast<size_t>(path.back())], low[at]);
      if (low[at] != order[at]) continue;
      std::vector<int32_t> set;
      do {
        set.push_back(stack.back());
        set_of[static_cast<size_t>(stack.back())] = static_cast<int32_t>(sets.size());
        stack.pop_back();
      } while (set.back() != static_cast<int32_t>(at));
      std::sort(set.begin(), set.end());
      sets.push_back(std::move(set));
    }
  }
  std::vector<char> has_way_out(sets.size(), 0);
  for (size_t rank = 0; rank < count; ++rank) {
    for (const int32_t to : waits_for[rank]) {
      if (set_of[static_cast<size_t>(to)] != set_of[rank]) has_way_out[static_cast<size_t>(set_of[rank])] = 1;
    }
  }
  std::vector<std::vector<int32_t>> last;
  for (size_t s = 0; s < sets.size(); ++s) {
    if (has_way_out[s] == 0) last.push_back(std::move(sets[s]));
  }
  std::sort(last.begin(), last.end());
  return last;
}

}  // namespace

WaitGraph wait_graph(const GroupTable& table, const std::vector<Mismatch>& mismatches) {
  WaitGraph graph = Graph(table, mismatches).build();
  graph.last = last_sets(graph.waits_for);
  std::vector<std::vector<int32_t>> seen = graph.waits_for;
  for (std::vector<int32_t>& waits : seen) {
    std::erase_if(waits, [&](int32_t rank) { return table.dump_of[static_cast<size_t>(rank)] == nullptr; });
  }
  for (std::vector<int32_t>& set : last_sets(seen)) {
    if (set.size() > 1 && !std::binary_search(graph.last.begin(), graph.last.end(), set))
      graph.last_seen.push_back(std::move(set));
  }
  return graph;
}

}  // namespace skewscope::hang
