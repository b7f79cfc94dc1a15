// The call tree of a trace's host threads: which row ran within which, and which GPU rows hang on it.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/base/string_table.h"
#include "skewscope/model/rank_detail.h"

namespace skewscope::summarize {

// Rows of HostEvents; -1: none. A parent comes before its children.
struct CallTree {
  std::vector<int32_t> parent;

  size_t size() const { return parent.size(); }
};

CallTree call_tree(const HostEvents& host);

// Rows that hold wanted(row), chained: per row of the tree the next one around it; -1: none. Linear, so that looking
// for such a row never walks the whole stack.
template <class Wanted>
std::vector<int32_t> next_around(const CallTree& tree, const Wanted& wanted) {
  std::vector<int32_t> next(tree.size(), -1);
  for (size_t row = 0; row < next.size(); ++row) {
    const int32_t parent = tree.parent[row];
    if (parent >= 0) next[row] = wanted(static_cast<size_t>(parent)) ? parent : next[static_cast<size_t>(parent)];
  }
  return next;
}

// Per row: what it and all rows below it own. Children are behind their parents: one pass backwards.
std::vector<int64_t> subtree_sums(const CallTree& tree, std::vector<int64_t> own);

// Per row of HostEvents: what of its time no operator, call or annotation directly below it took; python frames and the
// profiler's own rows are between and take nothing, as in the profiler's own table.
std::vector<int64_t> self_times(const HostEvents& host, const CallTree& tree);

// Per row of GpuEvents: the operator that put it on the GPU, in HostEvents; the call itself where no operator is above
// it; -1: launched outside the trace. Operators named `execute` only pass on what their caller wants (TraceLens).
std::vector<int32_t> launchers_of(const RankDetail& detail, const CallTree& tree, const StringTable& strings);

// The union of intervals that are added in the order of their starts.
class BusyTime {
 public:
  void add(LocalNs start, int64_t duration_ns) {
    const LocalNs end = start + duration_ns;
    if (!any_ || start > end_) {
      busy_ns_ += duration_ns;
      end_ = end;
    } else if (end > end_) {
      busy_ns_ += end - end_;
      end_ = end;
    }
    any_ = true;
  }
  int64_t ns() const { return busy_ns_; }

 private:
  LocalNs end_;
  int64_t busy_ns_ = 0;
  bool any_ = false;
};

}  // namespace skewscope::summarize
