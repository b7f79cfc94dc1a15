// Which rank of the job a file is, and how large the world is: the first source of KINETO.md, section 8, that
// answers, recorded per file; sources that disagree are findings.
#pragma once

#include <string>
#include <vector>

#include "rank_overrides.h"
#include "skewscope/model/job_trace.h"
#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

struct ResolvedRank {
  Rank rank;
  std::string source;      // "distributedInfo", "file name rank<R>", "synthetic", …
  bool synthetic = false;  // a number made up: only single-rank tables mean anything
  bool refutable = false;  // the files of other ranks could say otherwise
};

struct ResolvedRanks {
  std::vector<ResolvedRank> files;  // row = row of `evidence`
  int32_t world_size = 0;
  WorldSizeSource world_size_source = WorldSizeSource::nobody;
  Findings findings;
};

// `evidence` in the order of file names.
ResolvedRanks resolve_ranks(const std::vector<RankEvidence>& evidence, const RankOverrides& overrides);

}  // namespace skewscope::ingest
