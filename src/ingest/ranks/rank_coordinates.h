// Global ranks from the parallel coordinates in file names, where the world size leaves one reading.
#pragma once

#include <string>
#include <vector>

#include "rank_resolution.h"

namespace skewscope::ingest {

struct CoordinateRanks {
  std::vector<int64_t> of_file;  // row = row of `evidence`, -1: not known; empty: coordinates tell nothing
  std::string source;            // "file name TP/PP coordinates"
  bool refuted = false;          // a reading fits the world size, but content contradicts; reported
};

// `known`: ranks that better sources give, -1 for none. `world_size` 0: unknown.
CoordinateRanks ranks_by_coordinates(const std::vector<RankEvidence>& evidence, const std::vector<int64_t>& known,
                                     int32_t world_size, Findings& findings);

}  // namespace skewscope::ingest
