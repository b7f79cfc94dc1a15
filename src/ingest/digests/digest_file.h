// Files that were read before: a digest in place of a trace.
#pragma once

#include <string>

#include "skewscope/base/result.h"
#include "skewscope/model/trace_file.h"
#include "src/ingest/content/memory_budget.h"

namespace skewscope::ingest {

// By its first bytes; false for what is no regular file or cannot be read.
bool is_digest_file(const std::string& path);

// A damaged digest, or one of another version, is `not_a_trace` with a finding that says so. File, inflated and decoded
// bytes are taken from the budget before they are read; the trace's columns stay taken. Errors: resource_limit only.
Result<TraceFile> read_digest_file(const std::string& path, MemoryBudget& budget);

// False: the operating system refused, perhaps this time only. Nothing is kept of such a file.
bool could_be_read(const TraceFile& file);

// Says where the file lies now: its name, the folder, what the name tells.
void set_path(const std::string& path, TraceFile& file);

// What the name of its file tells of it. The name of a file of several ranks says the rank of none.
FileNameFacts name_facts(const TraceFile& file);

// Bytes of the columns: what a linked trace is charged with.
int64_t bytes_of(const RankTrace& trace);

}  // namespace skewscope::ingest
