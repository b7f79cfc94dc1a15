// Digests of traces that were read before, kept in a folder of the user's: an unchanged trace is not parsed twice.
//
// A trace is known by device, inode, size and change time; the program that read it, by its name for itself. The name
// of a cached file says all of it: what is stale is not found, only left behind, but for a trace that is written
// through a mapping, whose change time may lag. What was used least recently goes when the cache is larger than its
// limit; what it did not write is never touched. Any failure, of a full disk for example, means that there is no cache.
#pragma once

#include <string>
#include <vector>

#include "digest_file.h"
#include "skewscope/ingest/cache.h"

namespace skewscope::ingest {

// Where the digest of this trace, as it is now, is or would be; "" where nothing can be kept: no cache, no such file,
// or one that changed within the last instants, whose next change could go unseen. The first part of a file of several
// ranks lies there, the others in files of that name with their number.
std::string cached_path(const std::string& trace, const CacheOptions& cache);

// All parts of the file. Empty: one is not there, damaged, or too large for the budget as it is.
std::vector<TraceFile> find_cached(const std::string& trace, const std::string& cached, MemoryBudget& budget);

// All parts of the file `trace`; `cached` as it was before the trace was read. What could not be read is not kept: the
// next reader may be able to.
void store_cached(const std::string& trace, const std::vector<TraceFile>& parts, const std::string& cached,
                  const CacheOptions& cache);

}  // namespace skewscope::ingest
