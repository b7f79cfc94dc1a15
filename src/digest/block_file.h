// The outer form of a digest: a head, a table of blocks, the blocks, each a zstd frame with its checksum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/base/result.h"

namespace skewscope::digest {

// Blocks as one file; the first is the plan. `decoded_bytes`: what head and budget are given.
std::string pack_blocks(const std::vector<std::string>& blocks, uint64_t decoded_bytes);

struct Head {
  uint32_t version = 0, blocks = 0;
  uint64_t decoded_bytes = 0;
};
// False: no digest, or cut inside the head.
bool read_head(std::string_view file, Head& head);

// Inflates all blocks, in parallel. Errors: not a digest, another version, damaged, larger than it may be.
Result<std::vector<std::string>> unpack_blocks(std::string_view file);

// The error of everything that cannot be what a writer wrote.
Error damaged(const std::string& what);

}  // namespace skewscope::digest
