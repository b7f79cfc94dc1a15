// The operators and calls of each host thread as a line to walk back on, and which threads hand work to each other.
#pragma once

#include <cstdint>
#include <vector>

#include "src/summarize/operators/operator_view.h"

namespace skewscope::summarize {

// Rows of HostEvents; only operators and calls are in it. -1: none.
class HostLines {
 public:
  explicit HostLines(const OperatorView& view, bool tied_threads = true);

  int32_t parent(int32_t row) const { return parent_[static_cast<size_t>(row)]; }
  // The one before it within the same parent, or on the same thread where it is outermost.
  int32_t before(int32_t row) const { return before_[static_cast<size_t>(row)]; }
  // The last one within it.
  int32_t last_within(int32_t row) const { return last_within_[static_cast<size_t>(row)]; }
  // The last outermost one of the thread that begins before `t`.
  int32_t last_begun(int32_t thread, LocalNs t) const;
  // The last outermost one that ran in the gap, all of it, on threads that this one hands work to or has it from.
  int32_t last_elsewhere(int32_t thread, LocalNs gap_start, LocalNs gap_end) const;
  // The thread with most outermost rows; -1: no rows.
  int32_t busiest_thread() const;
  size_t threads() const { return first_.size() - 1; }

 private:
  void tie_threads();

  const OperatorView& view_;
  std::vector<int32_t> parent_, before_, last_within_;
  std::vector<int32_t> outermost_;  // by thread, then by start
  std::vector<size_t> first_;       // per thread: its first in outermost_; one more: the end
  std::vector<int32_t> tie_;        // per thread: equal for threads that hand work to each other
};

}  // namespace skewscope::summarize
