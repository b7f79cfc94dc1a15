// Flags that commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "skewscope/align.h"
#include "skewscope/correlate.h"
#include "skewscope/ingest.h"
#include "src/cli/process/terminal.h"

namespace skewscope::cli {

struct CommonOptions {
  int threads = 0;  // 0: all cores
  When color = When::automatic, progress = When::automatic;
  bool quiet = false;
  int verbose = 0;
  bool timings = false;
};

struct InputOptions {
  std::vector<std::string> paths;
  IngestOptions ingest;
};

// Whether progress is shown.
bool shows_progress(const CommonOptions& options);

void add_common_options(CLI::App& command, CommonOptions& options);
// PATH..., and the filters.
void add_input_options(CLI::App& command, InputOptions& options);
// --ranks, --steps, --rank-regex, --rank-map, --kernels, --memory-limit.
void add_input_filters(CLI::App& command, IngestOptions& ingest);
// --job
void add_job_option(CLI::App& command, IngestOptions& ingest, const std::string& help);
void add_rank_tables_option(CLI::App& command, RankTableChoice& choice);
// --kernels: a table that comes before the built-in one. What was cached without it is not found with it.
void add_kernels_option(CLI::App& command, IngestOptions& ingest);
void add_memory_limit(CLI::App& command, IngestOptions& ingest);
void add_align_option(CLI::App& command, AlignMode& mode);
// --cache, --cache-limit; on by default, in the user's cache folder (XDG).
void add_cache_options(CLI::App& command, CacheOptions& options);

}  // namespace skewscope::cli
