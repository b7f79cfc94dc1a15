// All files of a job, read and linked in parallel; nothing here knows which rank a file is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "link_calls.h"
#include "memory_budget.h"
#include "rank_resolution.h"
#include "skewscope/ingest.h"

namespace skewscope::ingest {

struct ReadFile {
  ContentKind kind = ContentKind::not_a_trace;
  bool usable = false;  // a trace of one rank
  std::string compression, job_name;
  int64_t bytes = 0, events = 0;
  RankEvidence evidence;
  LinkedTrace linked;
  std::optional<std::vector<int64_t>> steps_before_filter;  // numbers; given where --steps is
};

// What of one file's content the job needs, linked; the rest is dropped.
ReadFile link_file(FileContent content, const IngestOptions& options);

// Row = row of `files`. One task per file; larger files first, or the last one would keep the others waiting. Errors:
// resource_limit.
Result<std::vector<ReadFile>> read_files(const std::vector<std::string>& files, const IngestOptions& options);

// Says which files are no rank, as findings of those files, and marks the others usable. A process without GPU work and
// collectives is a front end beside ranks, but alone it is what the user asked about.
void judge_files(std::vector<ReadFile>& files);

// "kineto json", "not a rank: merged trace", …
const char* format_of(const ReadFile& file);

}  // namespace skewscope::ingest
