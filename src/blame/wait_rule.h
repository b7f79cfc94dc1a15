// Which arrival each member of a collective has to wait for before it can finish.
#pragma once

#include <algorithm>
#include <cstdint>

#include "job_view.h"

namespace skewscope::blame {

struct WaitRule {
  bool everyone = false;            // all wait for the last
  bool only_special_waits = false;  // the root alone waits, for the last
  int64_t special = -1;             // row of the root, or of the sender; -1: none, or not known

  // The arrival that `row` waits for, `last` being that of all; its own where it waits for nobody, or that is not
  // known. `start_of`: row -> when it arrives.
  template <class StartOf>
  int64_t needed(int64_t row, int64_t last, const StartOf& start_of) const {
    if (everyone || (only_special_waits && row == special)) return last;
    if (only_special_waits || special < 0) return start_of(row);
    return std::max(start_of(row), start_of(special));
  }
};

WaitRule wait_rule(const JobView& view, size_t id);

}  // namespace skewscope::blame
