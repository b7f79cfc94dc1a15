// Stage: files -> JobTrace. Kineto JSON (.json, .json.gz, .json.zst) is one reader behind
// src/ingest/content/trace_reader.h; a digest (skewscope/digest.h) stands for the trace it was made of.
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
#include "skewscope/model/found_job.h"
#include "skewscope/model/job_trace.h"
#include "skewscope/model/keep_steps.h"
#include "skewscope/model/trace_file.h"

namespace skewscope {

// Where digests of traces that were read are kept, to be read in place of the traces while these do not change.
struct CacheOptions {
  std::string directory;  // empty: no cache
  int64_t limit_bytes = 0;
  std::string writer;  // names the build of the program: it finds only what it wrote itself; letters and digits
};

// Names a file as it is now, by device, inode, size and change time. "": there is none, or it changed within the last
// instants, so that its next change could go unseen.
std::string mark_of_file(const std::string& path);

// Makes the cache's folder where it is not there, for its owner alone: traces tell what he trains.
bool make_cache_folder(const CacheOptions& cache);

// Deletes from the cache's folder what was used least recently, beyond its limit: files whose names end in
// kCachedSuffix, and folders called by kept_report_name.
void trim_cache(const CacheOptions& cache);
constexpr const char* kCachedSuffix = ".cached";

// What a folder in the cache is called that holds a report; `told`: letters, digits and '-'.
std::string kept_report_name(const CacheOptions& cache, const std::string& told);

struct IngestOptions {
  std::string rank_regex;            // --rank-regex: named group `rank`, searched in the path; empty: not given
  std::string rank_map;              // --rank-map: CSV file of path,rank (path may be a file name); empty: not given
  int32_t world_size = 0;            // --world-size: the job has at least so many ranks; 0: as the files say
  std::vector<int32_t> ranks;        // --ranks: only these; empty: all
  std::optional<StepNumbers> steps;  // --steps A:B: GPU rows and calls launched in A <= step < B
  // true: what lies outside `steps` is hidden from `visit` only. Calls of all steps tie clocks (skewscope/select.h).
  bool whole = false;
  // Called once for each file, whatever it turned out to be, from several threads at once, while the details of its
  // rows are there (TraceFile::linked, detail); without it they are not read. Digests have none, so the cache is left
  // alone.
  std::function<void(const TraceFile&)> visit;
  // What `visit` takes beside the trace: held against the limit while it runs. Empty: nothing.
  std::function<int64_t(const LinkedTrace&)> bytes_to_visit;
  // false: the job need not say which threads launched, a seventh of its columns, which no report asks for.
  bool launch_threads = true;
  std::string job;       // --job: the one of this name, where several jobs are found; empty: not given
  bool one_job = false;  // true: who sent the files said that they are of one job
  // Told the jobs found, where there are several, before one is chosen.
  std::function<void(const std::vector<FoundJob>&)> several_jobs;
  std::shared_ptr<const KernelTable> kernels;  // --kernels: which kernels communicate; null: the built-in table
  CacheOptions cache;
  int64_t memory_limit_bytes = 0;  // --memory-limit: reduced columns plus chunks in flight; 0: no limit
};

// Files found for the paths a user gave: a file, a directory (recursive, by suffix), or a glob pattern. Sorted, unique.
// A path that exists under its literal name is never taken for a pattern. Errors: no_input when nothing is found,
// unreadable when a folder cannot be listed; with `unlisted` that is said there, and what the others have is found.
// Each of several processes gets its share of what they see, which may be nothing.
Result<std::vector<std::string>> discover_files(const std::vector<std::string>& paths, Exchange& exchange = alone(),
                                                std::vector<Error>* unlisted = nullptr);

// What `skewscope inspect` says of one file.
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
  std::string vendor;
};
struct InspectedFiles {
  std::vector<InspectedJob> jobs;  // by time
  std::vector<FileSummary> files;  // in the order of discover_files
};
Result<InspectedFiles> inspect_files(const std::vector<std::string>& files, const IngestOptions& options,
                                     StageTimer& timer);

struct DigestsMade {
  int64_t files = 0, traces = 0;              // digests written; those of them that reports use
  int64_t trace_bytes = 0, digest_bytes = 0;  // on disk
  std::vector<std::string> unreadable;        // files that have no digest
  std::string foreign;                        // the first that is no rank's trace, and what it is
};

// Writes a digest of each file into `directory`, which may exist, at the file's place below the folder they share.
// Errors: output (a digest exists and `force` is not given, two would be one, or cannot be written), resource_limit.
Result<DigestsMade> make_digests(const std::vector<std::string>& files, const std::string& directory, bool force,
                                 const IngestOptions& options);

// Errors: usage (no expression, or one without a group named rank). "": not given.
Result<Done> check_rank_regex(const std::string& rank_regex);

// What one file says of itself before anybody reads it as a trace, in bounded memory: for who passes files on.
struct FileCheck {
  bool whole = false;
  std::string problem;      // why not, or why it never will be: "cut inside its compressed stream"
  bool may_grow = false;    // not whole, and a writer at work would look the same: empty, cut
  std::string compression;  // "", "gzip", "zstd"
  Rank rank;                // by this file alone; unknown where only its neighbours could tell
  std::string rank_source;
  int32_t world_size = 0;  // 0: not told
};

struct FileCheckOptions {
  std::string rank_regex;
  // Nobody writes to it: a large gzip file is whole where its last bytes are the end of its stream.
  bool closed = false;
  int64_t digest_memory_bytes = 0;  // that reading a digest may take; 0: no limit
  std::function<bool()> go_on;      // asked between blocks that are read, may take its time; empty: always
};

// `file` holds the bytes; `named` is the path whose words may tell the rank. Compressed files are inflated to the end,
// their checksums compared; JSON ends where its first brace closes; digests check themselves. Rank and world size come
// of the pattern, the keys before the events and the name, in the order in which reports believe them. Errors: usage
// (bad pattern), no_input or unreadable (cannot be opened, or was stopped), resource_limit.
Result<FileCheck> check_file(const std::string& file, const std::string& named, const FileCheckOptions& options);

}  // namespace skewscope
