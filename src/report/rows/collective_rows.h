// The table of collectives: one row per (communicator, op, dtype, bytes).
#pragma once

#include <vector>

#include "rooms.h"

namespace skewscope::report {

// Sorted by communicator, op, dtype, bytes. wait and transfer: over the members of split instances, incomplete ones
// included (a lower bound). Skews: over instances whose members' clocks are tied. Bandwidths: over complete, split
// instances of known size, t = the instance's transfer.
std::vector<JobReport::CollectiveRow> collective_rows(const Rooms& rooms);

}  // namespace skewscope::report
