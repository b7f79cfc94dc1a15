// On-demand traces of one time that claim one rank: distributedInfo of theirs holds the root of the first broadcast.
#pragma once

#include <vector>

#include "skewscope/base/finding.h"
#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

inline bool claims_on_demand(const RankEvidence& file) {
  return file.distributed.after_events && file.distributed.rank >= 0;
}

// Row = row of `evidence`: whether another capture that overlaps in time claims its number. At most one is right, and
// nobody knows which.
std::vector<bool> doubted_claims(const std::vector<RankEvidence>& evidence, Findings& findings);

}  // namespace skewscope::ingest
