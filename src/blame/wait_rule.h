// Which arrival each member of a collective has to wait for before it can finish.
#pragma once

#include <algorithm>
#include <cstdint>

#include "job_view.h"

namespace skewscope::blame {

// As it was recorded.
bool waits_for_partner(const JobView& view, const BatchLink& link);

struct WaitRule {
  bool everyone = false;             // all wait for the last
  bool only_special_waits = false;   // the root alone waits, for the last
  int64_t special = -1;              // row of the root, or of a sender; -1: none, or not known
  const JobView* batches = nullptr;  // of an instance of batches: its links tell

  // The arrival that `row` waits for, `last` being that of all; its own where it waits for nobody, or that is not
  // known. `start_of`: row -> when it arrives.
  template <class StartOf>
  int64_t needed(int64_t row, int64_t last, const StartOf& start_of) const {
    if (everyone || (only_special_waits && row == special)) return last;
    if (batches != nullptr) return needed_of_batch(row, start_of);
    if (only_special_waits || special < 0) return start_of(row);
    return std::max(start_of(row), start_of(special));
  }

 private:
  template <class StartOf>
  int64_t needed_of_batch(int64_t row, const StartOf& start_of) const {
    int64_t needed = start_of(row);
    for (const BatchLink& link : links_of(batches->table, static_cast<uint32_t>(row))) {
      if (waits_for_partner(*batches, link)) needed = std::max(needed, start_of(static_cast<int64_t>(link.partner)));
    }
    return needed;
  }
};

WaitRule wait_rule(const JobView& view, size_t id);

}  // namespace skewscope::blame
