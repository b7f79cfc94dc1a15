// Which rank of the job a file is, and how large the world is: the first source of kineto-format.md section 12 that
// answers, recorded per file; sources that disagree are findings.
#pragma once

#include <string>
#include <vector>

#include "file_content.h"
#include "file_name_rank.h"
#include "rank_overrides.h"

namespace skewscope::ingest {

// What one file says about its rank.
struct RankEvidence {
  std::string file;
  FileNameFacts name;
  std::string host;
  int32_t gpus = 0;             // deviceProperties
  DistributedInfo distributed;  // its groups are kept for resolve_groups
  int64_t symmetric_rank = -1;  // "Rank" of symmetric collectives on default_pg; -1: none, or not all the same
  int64_t default_group_size = -1;
  int64_t largest_group = -1;                     // "Group size" of any call, size of any listed group
  std::vector<std::vector<int64_t>> call_groups;  // members of the groups of its calls, complete lists only
  LocalNs first_event, last_event;
};

// From content alone; window and name facts are the caller's.
RankEvidence evidence_of(const FileContent& content);

struct ResolvedRank {
  Rank rank;
  std::string source;      // "distributedInfo", "file name rank<R>", "synthetic", …
  bool synthetic = false;  // a number made up: only single-rank tables mean anything
};

struct ResolvedRanks {
  std::vector<ResolvedRank> files;  // row = row of `evidence`
  int32_t world_size = 0;
  std::string world_size_source;
  Findings findings;
};

// `evidence` in the order of file names.
ResolvedRanks resolve_ranks(const std::vector<RankEvidence>& evidence, const RankOverrides& overrides);

}  // namespace skewscope::ingest
