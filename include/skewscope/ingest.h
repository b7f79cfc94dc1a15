// Stage: files -> JobTrace. Each format is one reader, listed in src/ingest/trace_readers.cc; a digest
// (skewscope/digest.h) represents the trace it was made of.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/kernel_table.h"
#include "skewscope/base/exchange.h"
#include "skewscope/base/result.h"
#include "skewscope/base/stage_timer.h"
#include "skewscope/ingest/cache.h"
#include "skewscope/ingest/read_progress.h"
#include "skewscope/model/found_job.h"
#include "skewscope/model/job_trace.h"
#include "skewscope/model/keep_steps.h"
#include "skewscope/model/trace_file.h"

namespace skewscope {

struct IngestOptions {
  std::string rank_regex;  // --rank-regex: named group `rank`, searched in the path; empty: not given
  std::string
      rank_map;  // --rank-map: CSV file of path,rank or path,rank,host (path may be a file name); empty: not given
  // The host of a file that is kept under another name than it came with, by path; "": not known. Empty: nobody knows.
  std::function<std::string(const std::string& path)> host_of;
  int32_t world_size = 0;            // --world-size: the job has at least so many ranks; 0: as the files say
  std::vector<int32_t> ranks;        // --ranks: only these; empty: all
  std::string step_range;            // --step-range: what ranges of steps are called; empty: found by itself
  std::optional<StepNumbers> steps;  // --steps A:B: GPU rows and calls launched in A <= step < B
  // true: what lies outside `steps` is hidden from `while_details_last` only. Calls of all steps tie clocks
  // (skewscope/select.h).
  bool whole = false;
  // What later stages make of the details of rows (TraceFile::linked, detail). Those of all files would not fit, so it
  // is made in here: called once for each file, whatever it turned out to be, from several threads at once, before the
  // file's details are forgotten. Without it they are not read. Digests have none, so the cache is left alone.
  std::function<void(const TraceFile&)> while_details_last;
  // The memory that `while_details_last` takes in addition to the trace: held against the limit while it runs. Empty:
  // none.
  std::function<int64_t(const LinkedTrace&)> bytes_while_details_last;
  // false: the job need not say which threads launched, a seventh of its columns, which no report asks for.
  bool keep_launch_threads = true;
  std::string job;       // --job: the one of this name, where several jobs are found; empty: not given
  bool one_job = false;  // true: who sent the files said that they are of one job
  // Told the jobs found, where there are several, before one is chosen.
  std::function<void(const std::vector<FoundJob>&)> several_jobs;
  std::shared_ptr<const KernelTable> kernels;  // --kernels: which kernels communicate; null: the built-in table
  CacheOptions cache;
  std::shared_ptr<ReadProgress> progress;  // moved on as files are read; null: nobody looks
  int64_t memory_limit_bytes = 0;          // --memory-limit: reduced columns plus chunks in flight; 0: no limit
};

// Files found for the paths a user gave: a file, a directory (recursive, by suffix), or a glob pattern. Sorted, unique.
// A path that exists under its literal name is never taken for a pattern. Errors: no_input when nothing is found,
// unreadable when a folder cannot be listed; with `unlisted` that is said there, and what the others have is found.
// Each of several processes gets its share of what they see, which may be nothing.
Result<std::vector<std::string>> discover_files(const std::vector<std::string>& paths, Exchange& exchange = alone(),
                                                std::vector<Error>* unlisted = nullptr);

// The file from which the trace of this name (RankTrace::file) is read: "capture.sqlite" for its part
// "capture.sqlite#pid4242". A name under which a file exists is that file.
std::string file_of_part(const std::string& name);

// One row of `skewscope inspect`: a file, or one rank of a file of several.
struct FileSummary {
  std::string file;
  std::string format;       // "kineto json", "not a rank: merged trace", "unreadable", …
  std::string compression;  // "", "gzip", "zstd"
  bool usable = false;
  Rank rank;
  std::string rank_source;
  std::string job;         // name of the job it is of; empty: of none
  int32_t world_size = 0;  // by distributedInfo of the file, else the job's
  int32_t session = 0;
  std::string host;
  std::vector<int64_t> steps;
  int64_t gpu_rows = 0, collective_calls = 0, events = 0, bytes = 0;  // bytes of uncompressed text
  LocalNs first_event, last_event;
  std::vector<std::string> problems;  // messages of the file's findings
};

struct IngestedJob {
  JobTrace job;
  std::vector<FileSummary> files;  // in the order of discover_files; rows of what other processes read are not counted
  // The logs that its processes wrote next to their traces, whole: of the same ranks, and often of a longer time.
  std::optional<JobTrace> logged;
};

// Reads all files with oneTBB's current concurrency. Imperfect input becomes findings of the job. Errors: no_input when
// no file is usable, or several jobs are found and none is chosen; resource_limit, usage (bad regex, map or job).
// Result is equal for any thread count and file order. Several processes read their own `files` each and get the same
// job, but for what only the reader of a file has.
Result<IngestedJob> ingest_job(const std::vector<std::string>& files, const IngestOptions& options, StageTimer& timer,
                               Exchange& exchange = alone());

// Every job that lies there, not one of them. Errors as of ingest_job.
struct InspectedJob {
  FoundJob found;
  int32_t ranks = 0, sessions = 1;
  JobVendor vendor = JobVendor::unknown;
};
struct InspectedFiles {
  std::vector<InspectedJob> jobs;  // by time
  std::vector<FileSummary> files;  // in the order of discover_files
};
Result<InspectedFiles> inspect_files(const std::vector<std::string>& files, const IngestOptions& options,
                                     StageTimer& timer);

}  // namespace skewscope
