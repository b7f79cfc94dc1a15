// How many ranks the job has, by the best source any file offers.
#pragma once

#include <vector>

#include "rank_resolution.h"

namespace skewscope::ingest {

struct WorldSize {
  int32_t size = 0;  // 0: no file tells
  WorldSizeSource source = WorldSizeSource::nobody;
  bool exact = false;  // false: a lower bound
};

// distributedInfo, else the size of default_pg, else the larger of the largest group (a lower bound) and "-of-<W>" in
// file names (KINETO.md, section 8). The most frequent answer of the source counts, the larger one on a tie.
// Files that disagree with it are findings, and so are answers too large to be believed.
WorldSize world_size_of(const std::vector<RankEvidence>& evidence, Findings& findings);

}  // namespace skewscope::ingest
