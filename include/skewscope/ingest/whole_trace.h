// For who passes traces on: is a file whole, and which rank is it?
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "skewscope/base/ids.h"
#include "skewscope/base/result.h"

namespace skewscope {

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
  int32_t ranks = 1;       // that the file holds: `rank` is the lowest, the others follow it
  int32_t world_size = 0;  // 0: not known
  std::string host;        // by its head or its name; "": not known
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
