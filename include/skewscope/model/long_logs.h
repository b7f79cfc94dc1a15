// Data: rows of a report that long logs of calls fill.
#pragma once

#include <cstdint>

#include "collectives/kind.h"
#include "collectives/transport.h"
#include "skewscope/model/report_values.h"

namespace skewscope {

// Instances whose algorithm or protocol is recorded, by operation, size, ranks, algorithm and protocol:
// tables/transports.csv.
struct TransportRow {
  CollectiveKind op = CollectiveKind::unknown;
  int64_t bytes = 0;
  int32_t size = 0;  // ranks of the communicator
  Algorithm algorithm = Algorithm::unknown;
  Protocol protocol = Protocol::unknown;
  int64_t count = 0;
  Statistics transfer_ns, algo_bandwidth_gb_per_s, bus_bandwidth_gb_per_s;
};

// What a rank did to the others over a long job, window by window: tables/trend.csv. Windows are equally long, and
// those without calls of the rank have no row.
struct TrendRow {
  int64_t start_ns = 0, duration_ns = 0;  // of the window, since the job's first event
  int32_t rank = 0, session = 0;
  int64_t collectives = 0, wait_ns = 0, wait_caused_ns = 0, late_count = 0, late_candidates = 0;
  double late_share = 0;
};

}  // namespace skewscope
