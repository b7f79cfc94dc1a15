// Which files are one job: a folder may hold several, and a report is of one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "skewscope/model/found_job.h"
#include "skewscope/model/trace_file.h"
#include "src/ingest/ranks/rank_overrides.h"
#include "src/ingest/ranks/rank_resolution.h"

namespace skewscope::ingest {

struct JobFiles {
  FoundJob job;
  std::vector<size_t> rows;  // of `files`: its ranks' traces, in the order of names
  ResolvedRanks ranks;       // row = row of `rows`
};

struct FoundJobs {
  std::vector<JobFiles> jobs;                     // by time of the first event, then name of the first file
  std::vector<std::pair<size_t, size_t>> copies;  // rows of `files`: a copy, and what it is a copy of
};

// `files` in the order of their names. Those that are no rank's trace are of no job. The names of the jobs are open.
// `one_job`: whoever gave the files said that they are of one.
FoundJobs find_jobs(std::vector<TraceFile>& files, const RankOverrides& overrides, bool one_job);

// Names each: by its folder, else by how its files' names begin, else "job-1", ... in the order of `jobs`.
void name_jobs(const std::vector<TraceFile>& files, std::vector<JobFiles>& jobs);

}  // namespace skewscope::ingest
