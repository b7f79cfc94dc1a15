// A TraceFile as bytes: small, checksummed, versioned, quick to load. Layout: src/digest/README.md. A layer below the
// stages: files on disk, caches and messages between processes hold the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skewscope/base/result.h"
#include "skewscope/model/trace_file.h"

namespace skewscope {

constexpr std::string_view kDigestSuffix = ".digest";
constexpr uint32_t kDigestVersion = 15;  // of the layout and of what the fields mean; readers know one version

// Whether the first bytes of a file (8 are enough) begin a digest of any version.
bool is_digest(std::string_view head);

// Everything of `file` but what is judged over all files or asked for by a command: usable, rank, session,
// communicators, steps_before_filter, and the facts that its name tells. Equal data gives equal bytes.
std::string to_digest(const TraceFile& file);

// A digest begins with a head of kDigestHeadBytes and a table, as long as digest_table_bytes() of the head says (0: no
// digest); both together tell what the rest will take.
constexpr size_t kDigestHeadBytes = 24;
size_t digest_table_bytes(std::string_view head);

// Bytes: of the whole file, of its blocks inflated, of the columns decoded. from_digest takes no more. nullopt: not a
// digest of this version, or it claims more than a file of its size may.
struct DigestSizes {
  uint64_t file = 0, inflated = 0, decoded = 0;
};
std::optional<DigestSizes> digest_sizes(std::string_view head_and_table);

// Safe on any bytes: what it returns satisfies the invariants of TraceFile. Error no_input, with a message without the
// file's name: not a digest, another version, damaged.
Result<TraceFile> from_digest(std::string_view digest);

}  // namespace skewscope
