// The stage for `skewscope digest`: traces -> files that represent them (skewscope/digest.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/base/result.h"
#include "skewscope/ingest.h"

namespace skewscope {

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

}  // namespace skewscope
