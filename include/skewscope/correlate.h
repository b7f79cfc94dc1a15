// The story of the program: files in, JobReport out. See src/correlate.cc.
#pragma once

#include <string>
#include <vector>

#include "skewscope/align.h"
#include "skewscope/base/result.h"
#include "skewscope/base/stage_timer.h"
#include "skewscope/ingest.h"
#include "skewscope/model/correlated_job.h"
#include "skewscope/model/job_report.h"

namespace skewscope {

// Which tables of the ranks are compared: of GPU rows and launches; operators, copies and host calls, too, for which
// the details of rows are read (digests have none).
enum class RankTableChoice : uint8_t { none, gpu, all };

struct CorrelateOptions {
  IngestOptions ingest;
  AlignMode align = AlignMode::automatic;
  RankTableChoice rank_tables = RankTableChoice::none;
  CorrelatedJob* keep = nullptr;  // gets, with all its rows, what the report was made of; null: rows are given back
};

// The first half of the story, up to the data that others than a report are made of. `files`: of discover_files.
Result<CorrelatedJob> split_job(const std::vector<std::string>& files, const IngestOptions& ingest, AlignMode mode,
                                StageTimer& timer, Exchange& exchange = alone());

// The rest of the story, in one process: why ranks were late, and what the report says of that.
JobReport explain_job(CorrelatedJob& job, StageTimer& timer);

// In several processes, each reads its share of the files, and process 0 gets the report; the others an empty one.
// An error of one is the error of all. `files`: of discover_files.
Result<JobReport> correlate_files(const std::vector<std::string>& files, const CorrelateOptions& options,
                                  StageTimer& timer, Exchange& exchange = alone());
// The same of the files that discover_files finds for `paths`.
Result<JobReport> correlate(const std::vector<std::string>& paths, const CorrelateOptions& options, StageTimer& timer,
                            Exchange& exchange = alone());

}  // namespace skewscope
