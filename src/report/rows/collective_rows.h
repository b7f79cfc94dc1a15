// The table of collectives: one row per (communicator, op, dtype, bytes).
#pragma once

#include <vector>

#include "sources.h"

namespace skewscope::report {

// Sorted by communicator, op, dtype, bytes. wait and transfer: over the members of split instances, incomplete ones
// included (a lower bound). Skews: over instances whose members' clocks are aligned. Bandwidths: over complete, split
// instances of known size, t = the instance's transfer.
std::vector<JobReport::CollectiveRow> collective_rows(const Sources& sources);

// By algorithm and protocol, of tracers that record these.
std::vector<TransportRow> transport_rows(const Sources& sources);

// How ranks changed over a long job, by (session, window, rank).
std::vector<TrendRow> trend_rows(const Sources& sources);

}  // namespace skewscope::report
