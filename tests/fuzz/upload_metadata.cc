// Upload-Metadata and the digests of tus and RFC 9530. What is read is in its bounds and survives being written again.
#include "skewscope/protocol/upload_metadata.h"

#include <cstdint>

#include "require.h"
#include "skewscope/protocol/names.h"

namespace skewscope {
namespace {

using test::require;

void check(const UploadMetadata& metadata) {
  require(is_name(metadata.job));
  require(metadata.rank >= 0 && metadata.rank < kMostRanks);
  require(metadata.capture >= 0 && metadata.capture <= kMostCaptures);
  require(metadata.world_size.value_or(1) >= 1 && metadata.world_size.value_or(1) <= kMostRanks);
  require(metadata.filename.size() <= 255);
  const ParsedMetadata again = parse_upload_metadata(encode(metadata));
  require(again.problem == nullptr);
  require(again.metadata.job == metadata.job && again.metadata.rank == metadata.rank &&
          again.metadata.capture == metadata.capture && again.metadata.filename == metadata.filename &&
          again.metadata.sha256 == metadata.sha256 && again.metadata.world_size == metadata.world_size &&
          again.metadata.replace == metadata.replace);
}

void check_digests(std::string_view text) {
  if (const auto digest = digest_from_hex(text)) require(digest_from_hex(hex(*digest)) == digest);
  if (const auto digest = digest_from_repr(text)) require(digest_from_repr(repr_digest(*digest)) == digest);
  if (const auto bytes = from_base64(text)) require(base64(*bytes) == text);
  if (const auto bytes = from_base64url(text)) require(base64url(*bytes) == text);
  suffix_of_content(text);
}

}  // namespace
}  // namespace skewscope

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skewscope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ParsedMetadata parsed = parse_upload_metadata(text);
  if (parsed.problem == nullptr) check(parsed.metadata);
  check_digests(text);
  return 0;
}
