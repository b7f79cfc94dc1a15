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

// Who is to visit files sees their details.
TraceReaders readers_for(const IngestOptions& options);

// One file, linked: a digest, a trace whose digest is in the cache, or a trace. Errors: resource_limit.
Result<TraceFile> read_whole_file(const std::string& path, const IngestOptions& options, const TraceReaders& readers,
                                  MemoryBudget& budget);

// What of one file's content the job needs, linked; the rest is dropped.
TraceFile link_file(FileContent content);

// Row = row of `files`. One task per file; larger files first, or the last one would keep the others waiting. Errors:
// resource_limit.
Result<std::vector<TraceFile>> read_files(const std::vector<std::string>& files, const IngestOptions& options);

// Digests keep the names of their traces, as somebody gave them somewhere: "trace.json" on every node. A name that
// several files of the job claim tells nothing; each of them is then called by the path it was read from.
void tell_apart(std::vector<TraceFile>& files);

// The last finding of a file that is no rank says why, unless one does already.
void report_left_out(TraceFile& file);

// Says which files are no rank, as findings of those files, and marks the others usable. A process without GPU work and
// collectives is a front end beside ranks, but alone it is what the user asked about.
void mark_usable(std::vector<TraceFile>& files);

// "kineto json", "not a rank: merged trace", …
const char* format_of(const TraceFile& file);

}  // namespace skewscope::ingest
