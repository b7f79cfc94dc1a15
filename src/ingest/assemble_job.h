// The job from its files: ranks, sessions, communicators, one string table.
#pragma once

#include <vector>

#include "skewscope/base/result.h"
#include "skewscope/model/job_trace.h"
#include "skewscope/model/trace_file.h"
#include "src/ingest/ranks/rank_overrides.h"
#include "src/ingest/ranks/rank_resolution.h"

namespace skewscope::ingest {

struct FileRank {
  Rank rank;  // none: not a rank
  std::string rank_source;
  SessionId session;  // none: left out of the job
};

struct AssembledJob {
  JobTrace job;
  std::vector<FileRank> ranks;  // row = row of `files`
};

// Takes the linked traces of `files`. `ranks`: of its usable files, where they are known. Errors: no_input when no file
// is usable or `only_ranks` leaves none.
Result<AssembledJob> assemble_job(std::vector<TraceFile>& files, const RankOverrides& overrides,
                                  const std::vector<int32_t>& only_ranks, const ResolvedRanks* ranks = nullptr);

}  // namespace skewscope::ingest
