// Problem: of millions of host rows, sorted by thread and start, tell which row each ran within.
//
// Idea: one pass with a stack of the rows that are still open. A row's parent is the innermost open row of its thread
// that does not end before it; where every open row does, the innermost of them. A microsecond of overhang is rounding:
// old traces round start and duration down to whole microseconds, each on its own.
//
// Why it is right: calls nest, so the innermost open row is the caller. Ranges that one function opens and another
// closes (record_function's __enter__ and __exit__, steps of the profiler) do not end within the first and are not
// around the whole of the second: both then hang on what is around all of it. No row is lost. (TraceLens drops rows
// that outlast the row they start in, with all that they launched.)
//
// Cost: linear; 4 bytes per row and the depth of the stack. Each open row knows the next one further out that ends
// later; rows that a search skips end before the row that is then put above them, and leave with it: no row is skipped
// twice.
#include "call_tree.h"

#include <algorithm>

namespace skewscope::summarize {

namespace {

constexpr int64_t kRoundingNs = 1000;
// Deeper than any stack of a program, so that walks from a row to its root stay short for any input.
constexpr int32_t kDeepest = 4096;

// The rows of one thread that are open, innermost last.
class OpenRows {
 public:
  explicit OpenRows(const HostEvents& host) : host_(host) {}

  void clear() { rows_.clear(); }
  // Opens `row`, which starts after all others; tells its parent.
  int32_t open(int32_t row) {
    const LocalNs end = end_of(row);
    while (!rows_.empty() && end_of(rows_.back().row) <= host_.start[static_cast<size_t>(row)]) rows_.pop_back();
    int32_t at = static_cast<int32_t>(rows_.size()) - 1, around = -1;
    for (; at >= 0 && end_of(row_at(at)) <= end; at = rows_[static_cast<size_t>(at)].wider) {
      if (around < 0 && end_of(row_at(at)) + kRoundingNs >= end) around = at;
    }
    if (around < 0) around = at >= 0 ? at : static_cast<int32_t>(rows_.size()) - 1;
    Open opened{row, -1, at, 0};
    if (around >= 0) {
      const Open& parent = rows_[static_cast<size_t>(around)];
      const bool deepest = parent.depth == kDeepest;
      opened.parent = deepest ? parent.parent : parent.row;
      opened.depth = deepest ? kDeepest : parent.depth + 1;
    }
    rows_.push_back(opened);
    return opened.parent;
  }

 private:
  struct Open {
    int32_t row, parent;
    int32_t wider;  // the innermost row further out that ends later; -1: none
    int32_t depth;
  };

  LocalNs end_of(int32_t row) const { return host_.end(static_cast<size_t>(row)); }
  int32_t row_at(int32_t at) const { return rows_[static_cast<size_t>(at)].row; }

  const HostEvents& host_;
  std::vector<Open> rows_;
};

}  // namespace

CallTree call_tree(const HostEvents& host) {
  CallTree tree;
  tree.parent.resize(host.size(), -1);
  OpenRows open(host);
  for (size_t row = 0; row < host.size(); ++row) {
    if (row > 0 && host.thread[row] != host.thread[row - 1]) open.clear();
    tree.parent[row] = open.open(static_cast<int32_t>(row));
  }
  return tree;
}

namespace {

bool takes_time(HostKind kind) { return kind != HostKind::python && kind != HostKind::overhead; }

}  // namespace

std::vector<int64_t> subtree_sums(const CallTree& tree, std::vector<int64_t> own) {
  for (size_t row = tree.size(); row-- > 0;) {
    if (tree.parent[row] >= 0) own[static_cast<size_t>(tree.parent[row])] += own[row];
  }
  return own;
}

std::vector<int64_t> self_times(const HostEvents& host, const CallTree& tree) {
  std::vector<int64_t> self = host.duration_ns;
  const std::vector<int32_t> around = next_around(tree, [&](size_t row) { return takes_time(host.kind[row]); });
  for (size_t row = 0; row < host.size(); ++row) {
    if (!takes_time(host.kind[row]) || around[row] < 0) continue;
    const auto parent = static_cast<size_t>(around[row]);
    const int64_t within_ns = std::min(host.end(row), host.end(parent)) - host.start[row];
    self[parent] = std::max<int64_t>(0, self[parent] - std::max<int64_t>(0, within_ns));
  }
  return self;
}

std::vector<int32_t> launchers_of(const RankDetail& detail, const CallTree& tree, const StringTable& strings) {
  const StringId passes_on = strings.find("execute");
  const HostEvents& host = detail.host;
  const auto launches = [&](size_t row) {
    return host.kind[row] == HostKind::op && !(passes_on.known() && host.name[row] == passes_on);
  };
  const std::vector<int32_t> around = next_around(tree, launches);
  std::vector<int32_t> launchers = detail.gpu.caller;
  for (int32_t& launcher : launchers) {
    if (launcher < 0 || launches(static_cast<size_t>(launcher))) continue;
    const int32_t above = around[static_cast<size_t>(launcher)];
    if (above >= 0) launcher = above;
  }
  return launchers;
}

}  // namespace skewscope::summarize
