// Digests of traces that were read before, kept in a folder of the user's: an unchanged trace is not parsed twice.
//
// A trace is known by device, inode, size and change time; the program that read it, by its name for itself: the name
// of a cached file says all of it, so nothing stale is ever found, only left behind. What was used least recently goes
// when the folder holds more than its limit. Any failure, of a full disk for example, means that there is no cache.
#pragma once

#include <optional>
#include <string>

#include "digest_file.h"
#include "skewscope/ingest.h"

namespace skewscope::ingest {

// Where the digest of this trace, as it is now, is or would be; "" where nothing can be kept: no cache, no such file,
// or one that changed within the last instants, whose next change could go unseen.
std::string cached_place(const std::string& trace, const CacheOptions& cache);

// nullopt: not there, or damaged. Errors: resource_limit.
Result<std::optional<TraceFile>> find_cached(const std::string& trace, const std::string& place, MemoryBudget& budget);

// `place` as it was before the trace was read.
void store_cached(const TraceFile& file, const std::string& place, const CacheOptions& cache);

void trim_cache(const CacheOptions& cache);

}  // namespace skewscope::ingest
