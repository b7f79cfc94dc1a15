// Which arrival each member of a collective has to wait for before it can finish.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "src/blame/line/job_view.h"

namespace skewscope::blame {

// Who waits for whom in the instances of batches, as it was recorded: rows of table.members.
class AwaitedRows {
 public:
  explicit AwaitedRows(const JobView& view);
  std::span<const uint32_t> of(size_t waiter) const {
    if (begin_.empty()) return {};
    return std::span(partners_).subspan(begin_[waiter], begin_[waiter + 1] - begin_[waiter]);
  }

 private:
  std::vector<uint32_t> partners_;  // by waiter
  std::vector<uint32_t> begin_;     // per row, and the end; empty in a job without batches
};

struct WaitRule {
  bool everyone = false;            // all wait for the last
  bool only_special_waits = false;  // the root alone waits, for the last
  bool batches = false;             // each for its partners: AwaitedRows
  int64_t special = -1;             // row of the root, or of a sender; -1: none, or not known

  // The arrival that `row` waits for, `last` being that of all; its own where it waits for nobody, or that is not
  // known. `awaited`: of the job. `start_of`: row -> when it arrives.
  template <class StartOf>
  int64_t needed(int64_t row, int64_t last, const AwaitedRows& awaited, const StartOf& start_of) const {
    if (everyone || (only_special_waits && row == special)) return last;
    if (batches) {
      int64_t needed = start_of(row);
      for (const uint32_t partner : awaited.of(static_cast<size_t>(row))) {
        needed = std::max(needed, start_of(int64_t{partner}));
      }
      return needed;
    }
    if (only_special_waits || special < 0) return start_of(row);
    return std::max(start_of(row), start_of(special));
  }
};

WaitRule wait_rule(const JobView& view, size_t id);

}  // namespace skewscope::blame
