// What the report itself has to say about its own limits.
#pragma once

#include "rooms.h"

namespace skewscope::report {

// Incomplete and mismatched instances, instances that were not split, ties, unmatched calls by reason:
// each with its consequence. `report` holds `matching` already.
Findings own_findings(const Rooms& rooms, const JobReport& report);

}  // namespace skewscope::report
