// Problem: for each name of a module, an annotation, a compiled region, and for each run of a launcher: the union of
// the GPU rows that were launched within any host row of that name, however deep.
//
// Idea: such host rows have a slot, their name's, and are the nodes of a forest. Time passes once over the GPU rows. A
// node is busy while anything in its subtree runs: what runs adds its time where it was launched, and of each two that
// run at once and are neighbours in depth-first order, their time in common is taken off where their ways to the root
// meet. Sums over subtrees then are the busy times of all nodes. A slot has the sum of its outermost nodes; only nodes
// of a slot whose spans on the GPU overlap (one call's kernels still run when the next call's begin on another stream)
// are widened GPU row by GPU row.
//
// Why it is right: of nodes that run at once, those on their ways to the roots are the nodes themselves less one where
// each neighbouring two meet, as in any tree. What lies in disjoint spans shares no time. A row within another one of
// its slot adds nothing.
//
// Cost: (host rows + GPU rows) x logarithm, however deep; and GPU rows times the overlapping nodes around each. 4 bytes
// per host row, 52 per node with launches in it, 24 per GPU row.
#include "slot_times.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <queue>

namespace skewscope::summarize {

void SlotTimes::add(int32_t host_row, LocalNs start, int64_t duration_ns) {
  if (host_row >= 0 && duration_ns > 0) launches_.push_back({host_row, start, duration_ns});
}

void SlotTimes::finish() {
  make_nodes();
  order_nodes();
  leave_outermost();
  find_paths();
  add_up();
  launches_ = {};
  nodes_ = {};
}

// Makes nodes of the rows on the ways from launches to their roots; launches move to their nodes, those in no slot are
// dropped.
void SlotTimes::make_nodes() {
  constexpr int32_t kOffTheWay = -2, kNone = -1;
  std::vector<int32_t> node_of(tree_.size(), kOffTheWay);  // the node that a row is, or that is next around it
  for (const Launch& launch : launches_) {
    for (int32_t row = launch.node; row >= 0 && node_of[static_cast<size_t>(row)] == kOffTheWay;
         row = tree_.parent[static_cast<size_t>(row)]) {
      node_of[static_cast<size_t>(row)] = kNone;
    }
  }
  for (size_t row = 0; row < tree_.size(); ++row) {
    if (node_of[row] == kOffTheWay) continue;
    const int32_t around = tree_.parent[row] < 0 ? kNone : node_of[static_cast<size_t>(tree_.parent[row])];
    node_of[row] = slot_[row] < 0 ? around : static_cast<int32_t>(nodes_.size());
    if (slot_[row] >= 0) nodes_.push_back({.slot = slot_[row], .parent = around});
  }
  for (Launch& launch : launches_) launch.node = node_of[static_cast<size_t>(launch.node)];
  launches_.erase(
      std::remove_if(launches_.begin(), launches_.end(), [](const Launch& launch) { return launch.node < 0; }),
      launches_.end());
}

void SlotTimes::order_nodes() {
  for (size_t i = nodes_.size(); i-- > 0;) {
    if (nodes_[i].parent >= 0) nodes_[static_cast<size_t>(nodes_[i].parent)].size += nodes_[i].size;
  }
  std::vector<int32_t> next(nodes_.size());  // position of the next child
  int32_t next_root = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    int32_t& place = nodes_[i].parent < 0 ? next_root : next[static_cast<size_t>(nodes_[i].parent)];
    nodes_[i].position = place;
    place += nodes_[i].size;
    next[i] = nodes_[i].position + 1;
  }
}

void SlotTimes::leave_outermost() {
  std::vector<int32_t> at(nodes_.size());  // position -> node
  for (size_t i = 0; i < nodes_.size(); ++i) at[static_cast<size_t>(nodes_[i].position)] = static_cast<int32_t>(i);
  std::vector<int32_t> ends(ns_.size(), 0);  // slot -> position behind its last outermost node
  for (const int32_t i : at) {
    Node& node = nodes_[static_cast<size_t>(i)];
    int32_t& end = ends[static_cast<size_t>(node.slot)];
    if (node.position < end) {
      node.slot = -1;
    } else {
      end = node.position + node.size;
    }
  }
}

// The child with the largest subtree goes on with its parent's path; a way to the root has few paths.
void SlotTimes::find_paths() {
  std::vector<int32_t> heavy(nodes_.size(), -1);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].parent < 0) continue;
    int32_t& known = heavy[static_cast<size_t>(nodes_[i].parent)];
    if (known < 0 || nodes_[static_cast<size_t>(known)].size < nodes_[i].size) known = static_cast<int32_t>(i);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const int32_t parent = nodes_[i].parent;
    const bool goes_on = parent >= 0 && heavy[static_cast<size_t>(parent)] == static_cast<int32_t>(i);
    nodes_[i].path = goes_on ? nodes_[static_cast<size_t>(parent)].path : static_cast<int32_t>(i);
  }
}

// The innermost node around both; -1: none. A parent comes before its children, so the path that begins later is left.
int32_t SlotTimes::meeting(int32_t a, int32_t b) {
  while (a >= 0 && b >= 0) {
    ++steps_;
    const int32_t path_a = nodes_[static_cast<size_t>(a)].path, path_b = nodes_[static_cast<size_t>(b)].path;
    if (path_a == path_b) return std::min(a, b);
    int32_t& later = path_a > path_b ? a : b;
    later = nodes_[static_cast<size_t>(std::max(path_a, path_b))].parent;
  }
  return -1;
}

// What runs at one time, by position in depth-first order.
class SlotTimes::Sweep {
 public:
  explicit Sweep(SlotTimes& times) : times_(times), gain_ns_(times.nodes_.size(), 0) {}

  void begin(int32_t node, LocalNs now) {
    const auto [at, is_first] = running_.try_emplace(position_of(node), Running{node, 0, now, now});
    ++at->second.count;
    if (!is_first) return;
    if (at != running_.begin()) {
      const auto before = std::prev(at);
      const auto after = std::next(at);
      if (after != running_.end()) part(before->second, after->second, now);
      before->second.beside_since = now;
    }
  }

  void end(int32_t node, LocalNs now) {
    const auto at = running_.find(position_of(node));
    if (--at->second.count > 0) return;
    gain_ns_[static_cast<size_t>(node)] += now - at->second.since;
    const auto after = std::next(at);
    if (after != running_.end()) part(at->second, after->second, now);
    if (at != running_.begin()) {
      const auto before = std::prev(at);
      part(before->second, at->second, now);
      before->second.beside_since = now;
    }
    running_.erase(at);
  }

  std::vector<int64_t> gains() && { return std::move(gain_ns_); }

 private:
  struct Running {
    int32_t node;
    int32_t count;         // GPU rows of this node
    LocalNs since;         // of the first of them
    LocalNs beside_since;  // neighbour of the one that comes after it
  };

  int32_t position_of(int32_t node) const { return times_.nodes_[static_cast<size_t>(node)].position; }

  // Two neighbours part.
  void part(const Running& one, const Running& next, LocalNs now) {
    const int32_t at = times_.meeting(one.node, next.node);
    if (at >= 0) gain_ns_[static_cast<size_t>(at)] -= now - one.beside_since;
  }

  SlotTimes& times_;
  std::map<int32_t, Running> running_;
  std::vector<int64_t> gain_ns_;
};

std::vector<int64_t> SlotTimes::busy_of_nodes() {
  Sweep sweep(*this);
  using End = std::pair<LocalNs, int32_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  const auto end_first = [&] {
    const auto [end, node] = ends.top();
    ends.pop();
    sweep.end(node, end);
  };
  for (const Launch& launch : launches_) {
    while (!ends.empty() && ends.top().first <= launch.start) end_first();
    sweep.begin(launch.node, launch.start);
    ends.emplace(launch.start + launch.duration_ns, launch.node);
  }
  while (!ends.empty()) end_first();
  std::vector<int64_t> busy_ns = std::move(sweep).gains();
  for (size_t i = nodes_.size(); i-- > 0;) {
    if (nodes_[i].parent >= 0) busy_ns[static_cast<size_t>(nodes_[i].parent)] += busy_ns[i];
  }
  return busy_ns;
}

namespace {

struct Span {
  LocalNs first{std::numeric_limits<int64_t>::max()}, last{std::numeric_limits<int64_t>::min()};

  void widen(LocalNs from, LocalNs to) {
    first = std::min(first, from);
    last = std::max(last, to);
  }
  bool any() const { return first < last; }
};

}  // namespace

void SlotTimes::add_up() {
  const std::vector<int64_t> busy_ns = busy_of_nodes();
  std::vector<Span> spans(nodes_.size());
  for (const Launch& launch : launches_) {
    spans[static_cast<size_t>(launch.node)].widen(launch.start, launch.start + launch.duration_ns);
  }
  std::vector<int32_t> order;  // nodes that have a slot and ran
  for (size_t i = nodes_.size(); i-- > 0;) {
    if (!spans[i].any()) continue;
    if (nodes_[i].parent >= 0) spans[static_cast<size_t>(nodes_[i].parent)].widen(spans[i].first, spans[i].last);
    if (nodes_[i].slot >= 0) order.push_back(static_cast<int32_t>(i));
  }
  const auto key = [&](int32_t node) {
    return std::make_pair(nodes_[static_cast<size_t>(node)].slot, spans[static_cast<size_t>(node)].first);
  };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
  std::vector<uint8_t> overlaps(nodes_.size(), 0);
  for (size_t from = 0, to = 0; from < order.size(); from = to) {
    const auto first = static_cast<size_t>(order[from]);
    LocalNs last = spans[first].last;
    for (to = from + 1; to < order.size(); ++to) {
      const auto next = static_cast<size_t>(order[to]);
      if (nodes_[next].slot != nodes_[first].slot || spans[next].first >= last) break;
      last = std::max(last, spans[next].last);
    }
    if (to == from + 1) {
      ns_[static_cast<size_t>(nodes_[first].slot)] += busy_ns[first];
    } else {
      for (size_t i = from; i < to; ++i) overlaps[static_cast<size_t>(order[i])] = 1;
    }
  }
  add_overlapping(overlaps);
}

// GPU row by GPU row, those nodes that share time with another one of their slot.
void SlotTimes::add_overlapping(const std::vector<uint8_t>& walked) {
  if (std::find(walked.begin(), walked.end(), 1) == walked.end()) return;
  std::vector<int32_t> next(nodes_.size(), -1);  // the next walked one, itself counted
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const int32_t parent = nodes_[i].parent;
    next[i] = walked[i] != 0 ? static_cast<int32_t>(i) : parent < 0 ? -1 : next[static_cast<size_t>(parent)];
  }
  std::vector<BusyTime> busy(ns_.size());
  for (const Launch& launch : launches_) {
    for (int32_t node = next[static_cast<size_t>(launch.node)]; node >= 0; ++steps_) {
      busy[static_cast<size_t>(nodes_[static_cast<size_t>(node)].slot)].add(launch.start, launch.duration_ns);
      const int32_t parent = nodes_[static_cast<size_t>(node)].parent;
      node = parent < 0 ? -1 : next[static_cast<size_t>(parent)];
    }
  }
  for (size_t slot = 0; slot < ns_.size(); ++slot) ns_[slot] += busy[slot].ns();
}

}  // namespace skewscope::summarize
