// Whom each member of a collective has to wait for before it can finish.
#pragma once

#include <cstdint>
#include <vector>

#include "job_view.h"

namespace skewscope::blame {

struct WaitRule {
  bool everyone = false;            // all wait for the last
  bool only_special_waits = false;  // the root alone waits, for the last
  int64_t special = -1;             // row of the root or the sender that the others wait for; -1: none, or not known

  bool waits_for_all(size_t row) const {
    return everyone || (only_special_waits && static_cast<int64_t>(row) == special);
  }
};

WaitRule wait_rule(const JobView& view, size_t id);

}  // namespace skewscope::blame
