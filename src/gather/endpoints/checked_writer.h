// SHA-1 checksums of tus: the algorithm every server has to know. The store knows SHA-256 alone.
#pragma once

#include <memory>
#include <string>

#include "src/gather/kept/store.h"

namespace skewscope::gather {

inline constexpr size_t kSha1Bytes = 20;

// Passes bytes on to a writer that was opened with some checksum, and at the end vouches for them, or drops them all
// and says wrong_digest when their SHA-1 is another than `sha1`.
std::shared_ptr<Writer> check_sha1(std::shared_ptr<Writer> writer, std::string sha1);

}  // namespace skewscope::gather
