// Problem: backward runs on a thread of its own, under nodes that do not say which operator they belong to.
//
// Idea: both record the sequence number of the autograd node. Among the forward rows with the number of a backward
// row, the one that started last before it made the node: an operator has the number that its first inner node will
// take, so the innermost of nested ones started last. (`Fwd thread id` numbers threads in a way that the trace does not
// tell; it only says that the row is a backward one.)
//
// Why it is right: the profiler draws its own arrows (cat fwdbwd) so; a test compares all of a real trace's.
//
// Cost: sorting the rows that have a number.
#include "forward_links.h"

#include <algorithm>
#include <tuple>

namespace skewscope::summarize {

std::vector<int32_t> forward_rows(const HostEvents& host) {
  struct Numbered {
    int32_t sequence;
    LocalNs start;
    int32_t row;

    bool operator<(const Numbered& other) const {
      return std::tie(sequence, start, row) < std::tie(other.sequence, other.start, other.row);
    }
  };
  std::vector<Numbered> forward;
  for (size_t row = 0; row < host.size(); ++row) {
    if (host.sequence[row] < 0 || host.forward_thread[row] != 0) continue;
    forward.push_back({host.sequence[row], host.start[row], static_cast<int32_t>(row)});
  }
  std::sort(forward.begin(), forward.end());
  std::vector<int32_t> links(host.size(), -1);
  for (size_t row = 0; row < host.size(); ++row) {
    if (host.sequence[row] < 0 || host.forward_thread[row] == 0) continue;
    const auto after =
        std::lower_bound(forward.begin(), forward.end(), Numbered{host.sequence[row], host.start[row], -1});
    if (after == forward.begin() || std::prev(after)->sequence != host.sequence[row]) continue;
    links[row] = std::prev(after)->row;
  }
  return links;
}

}  // namespace skewscope::summarize
