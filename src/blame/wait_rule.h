// Which arrival each member of a collective has to wait for before it can finish.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "job_view.h"

namespace skewscope::blame {

// Who waits for whom in an instance of batches, as it was recorded: rows of table.members, by waiter.
struct AwaitedRow {
  uint32_t waiter, partner;
};
std::vector<AwaitedRow> awaited_rows(const JobView& view);
// Those of one waiter.
std::span<const AwaitedRow> awaited_by(const std::vector<AwaitedRow>& all, size_t waiter);

struct WaitRule {
  bool everyone = false;            // all wait for the last
  bool only_special_waits = false;  // the root alone waits, for the last
  bool batches = false;             // each for its partners: awaited_rows()
  int64_t special = -1;             // row of the root, or of a sender; -1: none, or not known

  // The arrival that `row` waits for, `last` being that of all; its own where it waits for nobody, or that is not
  // known. `awaited`: of the job. `start_of`: row -> when it arrives.
  template <class StartOf>
  int64_t needed(int64_t row, int64_t last, const std::vector<AwaitedRow>& awaited, const StartOf& start_of) const {
    if (everyone || (only_special_waits && row == special)) return last;
    if (batches) {
      int64_t needed = start_of(row);
      for (const AwaitedRow& pair : awaited_by(awaited, static_cast<size_t>(row))) {
        needed = std::max(needed, start_of(int64_t{pair.partner}));
      }
      return needed;
    }
    if (only_special_waits || special < 0) return start_of(row);
    return std::max(start_of(row), start_of(special));
  }
};

WaitRule wait_rule(const JobView& view, size_t id);

}  // namespace skewscope::blame
