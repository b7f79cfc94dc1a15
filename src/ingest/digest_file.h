// Files that were read before: a digest in place of a trace.
#pragma once

#include <string>

#include "memory_budget.h"
#include "skewscope/base/result.h"
#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// By its first bytes; false for what cannot be read.
bool is_digest_file(const std::string& path);

// A damaged digest, or one of another version, is `not_a_trace` with a finding that says so. Its columns are taken from
// the budget. Errors: resource_limit only.
Result<TraceFile> read_digest_file(const std::string& path, MemoryBudget& budget);

// All or nothing: a temporary name first. False when it cannot be written.
bool write_digest_file(const TraceFile& file, const std::string& path);

// Says where the file lies now: its name, the folder, what the name tells.
void set_place(const std::string& path, TraceFile& file);

}  // namespace skewscope::ingest
