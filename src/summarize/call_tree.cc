// Problem: of millions of host rows, sorted by thread and start, tell which row each ran within.
//
// Idea: one pass with a stack of the rows that are still open. A row's parent is the innermost row of its thread that
// is open when the row starts; what has ended by then leaves the stack. Zero-length rows enclose nothing.
//
// Why it is right: proper calls nest, so the innermost open row is the caller. Rows that end after their parent
// (rounding to whole microseconds, generators, hand-written ranges) keep the parent they started in, and what follows
// within their overhang is theirs; no row is lost. (TraceLens drops such a row, and all that it launched, from
// its tree.)
//
// Cost: linear; 4 bytes per row and the depth of the stack.
#include "call_tree.h"

#include <algorithm>

namespace skewscope::summarize {

CallTree call_tree(const HostEvents& host) {
  CallTree tree;
  tree.parent.resize(host.size(), -1);
  std::vector<int32_t> open;
  for (size_t row = 0; row < host.size(); ++row) {
    if (row > 0 && host.thread[row] != host.thread[row - 1]) open.clear();
    while (!open.empty() && host.end(static_cast<size_t>(open.back())) <= host.start[row]) open.pop_back();
    if (!open.empty()) tree.parent[row] = open.back();
    open.push_back(static_cast<int32_t>(row));
  }
  return tree;
}

namespace {

bool takes_time(HostKind kind) { return kind != HostKind::python && kind != HostKind::overhead; }

}  // namespace

std::vector<int64_t> self_times(const HostEvents& host, const CallTree& tree) {
  std::vector<int64_t> self = host.duration_ns;
  for (size_t row = 0; row < host.size(); ++row) {
    if (!takes_time(host.kind[row])) continue;
    int32_t above = tree.parent[row];
    while (above >= 0 && !takes_time(host.kind[static_cast<size_t>(above)]))
      above = tree.parent[static_cast<size_t>(above)];
    if (above < 0) continue;
    const auto parent = static_cast<size_t>(above);
    self[parent] -= std::max<int64_t>(0, std::min(host.end(row), host.end(parent)) - host.start[row]);
  }
  return self;
}

std::vector<int32_t> launchers_of(const RankDetail& detail, const CallTree& tree, const StringTable& strings) {
  const StringId passes_on = strings.find("execute");
  const HostEvents& host = detail.host;
  std::vector<int32_t> launchers = detail.gpu.caller;
  for (int32_t& launcher : launchers) {
    int32_t row = launcher;
    while (row >= 0) {
      const auto at = static_cast<size_t>(row);
      if (host.kind[at] == HostKind::op && !(passes_on.known() && host.name[at] == passes_on)) break;
      row = tree.parent[at];
    }
    if (row >= 0) launcher = row;
  }
  return launchers;
}

}  // namespace skewscope::summarize
