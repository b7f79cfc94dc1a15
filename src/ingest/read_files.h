// All files of a job, read and linked in parallel; nothing here knows which rank a file is.
#pragma once

#include <string>
#include <vector>

#include "skewscope/ingest.h"
#include "skewscope/model/trace_file.h"
#include "src/ingest/content/file_content.h"
#include "src/ingest/content/memory_budget.h"
#include "trace_readers.h"

namespace skewscope::ingest {

// They read details where something is made of them (IngestOptions::while_details_last).
TraceReaders readers_for(const IngestOptions& options);

// One file, linked: a digest, a trace whose digest is in the cache, or a trace; one TraceFile for each rank in it, at
// least one. `path`: of a file, or one part of a file. Errors: resource_limit.
Result<std::vector<TraceFile>> read_whole_file(const std::string& path, const IngestOptions& options,
                                               const TraceReaders& readers, MemoryBudget& budget);

// What of one file's content the job needs, linked; the rest is dropped.
TraceFile link_file(FileContent content);

// In the order of `files`, parts of a file one after the other. One task per file; larger files first, or the last one
// would keep the others waiting. Errors: resource_limit.
Result<std::vector<TraceFile>> read_files(const std::vector<std::string>& files, const IngestOptions& options);

}  // namespace skewscope::ingest
