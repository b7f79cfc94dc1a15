// Problem: walking back in time over what a host thread did: from the end of a row to the end of the last row within
// it, from the start of a row to the row before it, and where the thread did nothing, to the thread that it waited for.
//
// Idea: three links per row, made in one pass. Backward runs on a thread of its own while the thread that asked for it
// is idle, and records nothing of that: threads are linked where one runs the backward of the other's operators, and
// a gap of one of them leads to what the other did in it.
//
// Why it is right: only rows that ran within the gap from start to end count. A thread that works at the same time has
// other gaps, and rows across their borders: nobody waited for those.
//
// Cost: linear, and sorting the rows with sequence numbers; 12 bytes per host row, 4 per outermost one.
#include "host_lines.h"

#include <algorithm>
#include <numeric>

#include "src/summarize/operators/forward_links.h"

namespace skewscope::summarize {

HostLines::HostLines(const OperatorView& view, bool tied_threads) : view_(view) {
  const HostEvents& host = view.host();
  const auto wanted = [&](size_t row) { return host.kind[row] == HostKind::op || host.kind[row] == HostKind::call; };
  parent_ = next_around(view.tree, wanted);
  before_.assign(host.size(), -1);
  last_within_.assign(host.size(), -1);
  first_.assign(view.detail.threads.size() + 1, 0);
  int32_t last = -1;  // outermost one of the thread
  for (size_t row = 0; row < host.size(); ++row) {
    if (row > 0 && host.thread[row] != host.thread[row - 1]) last = -1;
    if (!wanted(row)) continue;
    int32_t& previous = parent_[row] < 0 ? last : last_within_[static_cast<size_t>(parent_[row])];
    before_[row] = previous;
    previous = static_cast<int32_t>(row);
    if (parent_[row] >= 0) continue;
    outermost_.push_back(static_cast<int32_t>(row));
    ++first_[static_cast<size_t>(host.thread[row]) + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  tie_.resize(threads());
  std::iota(tie_.begin(), tie_.end(), 0);
  if (tied_threads) tie_threads();
}

void HostLines::tie_threads() {
  const HostEvents& host = view_.host();
  const std::vector<int32_t> forward = forward_rows(host);
  for (size_t row = 0; row < forward.size(); ++row) {
    if (forward[row] < 0) continue;
    const int32_t to = tie_[static_cast<size_t>(host.thread[static_cast<size_t>(forward[row])])];
    const int32_t from = tie_[static_cast<size_t>(host.thread[row])];
    if (from != to) std::replace(tie_.begin(), tie_.end(), from, to);
  }
}

int32_t HostLines::last_begun(int32_t thread, LocalNs t) const {
  const auto begin = outermost_.begin() + static_cast<std::ptrdiff_t>(first_[static_cast<size_t>(thread)]);
  const auto end = outermost_.begin() + static_cast<std::ptrdiff_t>(first_[static_cast<size_t>(thread) + 1]);
  const auto after = std::lower_bound(
      begin, end, t, [&](int32_t row, LocalNs time) { return view_.host().start[static_cast<size_t>(row)] < time; });
  return after == begin ? -1 : *std::prev(after);
}

int32_t HostLines::last_elsewhere(int32_t thread, LocalNs gap_start, LocalNs gap_end) const {
  const HostEvents& host = view_.host();
  int32_t last = -1;
  for (size_t other = 0; other < threads(); ++other) {
    if (static_cast<int32_t>(other) == thread || tie_[other] != tie_[static_cast<size_t>(thread)]) continue;
    int32_t row = last_begun(static_cast<int32_t>(other), gap_end);
    if (row >= 0 && host.end(static_cast<size_t>(row)) > gap_end) row = before(row);
    if (row < 0 || host.start[static_cast<size_t>(row)] < gap_start) continue;
    if (last < 0 || host.end(static_cast<size_t>(row)) > host.end(static_cast<size_t>(last))) last = row;
  }
  return last;
}

int32_t HostLines::busiest_thread() const {
  int32_t busiest = -1;
  size_t most = 0;
  for (size_t thread = 0; thread < threads(); ++thread) {
    const size_t rows = first_[thread + 1] - first_[thread];
    if (rows > most) busiest = static_cast<int32_t>(thread);
    most = std::max(most, rows);
  }
  return busiest;
}

}  // namespace skewscope::summarize
