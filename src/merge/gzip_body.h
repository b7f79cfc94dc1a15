// The deflate stream inside a gzip file, to be copied into a ZIP as it is.
#pragma once

#include <zip.h>

#include <cstdint>
#include <string>

#include "skewscope/base/result.h"

namespace skewscope::merge {

struct GzipBody {
  std::string path;
  bool is_gzip = false;           // false: a plain file, and the rest is 0
  uint64_t begin = 0, bytes = 0;  // of the stream, in the file
  uint64_t plain_bytes = 0;
  uint32_t crc = 0;  // CRC-32 of the plain bytes
};

// Inflates the file once: its size beyond 4 GiB is nowhere else. Errors: no_input, where it cannot be read, is damaged,
// has several members, or is compressed in another way.
Result<GzipBody> find_gzip_body(const std::string& path);

// A source that libzip copies as a deflated member. `body` outlives the archive. nullptr: no memory.
zip_source_t* deflated_source(zip_t* archive, const GzipBody& body);

}  // namespace skewscope::merge
