// How long devices themselves say that they waited in collectives, next to what arrivals say.
#pragma once

#include <algorithm>

#include "skewscope/model/decomposition.h"

namespace skewscope::report {

// Of a call that was split, to a row that sums over calls.
template <class Row>
void add_measured_wait(const CollectiveCall& call, const CallParts& parts, Row& row) {
  if (call.measured_wait_ns < 0) return;
  row.measured_wait_ns = std::max<int64_t>(row.measured_wait_ns, 0) + call.measured_wait_ns;
  row.split_of_measured_ns = std::max<int64_t>(row.split_of_measured_ns, 0) + parts.wait_ns;
}

}  // namespace skewscope::report
