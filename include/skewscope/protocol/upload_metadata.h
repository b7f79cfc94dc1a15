// Upload-Metadata of tus 1.0: "key base64,key base64,..."; skewscope's keys and their bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skewscope/protocol/sha256.h"

namespace skewscope {

struct UploadMetadata {
  std::string job;       // is_name()
  int capture = 0;       // 0..kMostCaptures: which of several of one job; above that, dumps: names.h
  int rank = 0;          // 0..kMostRanks - 1
  int ranks = 1;         // that the file holds: `rank` and those that follow it, all below kMostRanks
  std::string filename;  // what the sender calls the file: text to show, never a path
  std::optional<Digest> sha256;
  std::optional<int> world_size;  // 1..kMostRanks
  bool replace = false;           // other content than the file that is there is wanted
  std::optional<int64_t> age_s;   // of the file's content when this is said: no clock need be right
  bool grows = false;             // a log that is still written: its upload has no end, what came of it counts at once
};

std::string encode(const UploadMetadata& metadata);
// Every key at most once, unknown keys passed over, `job` and `rank` needed. `problem`: what is wrong, without any of
// the text's own bytes; null when nothing is.
struct ParsedMetadata {
  UploadMetadata metadata;
  const char* problem = nullptr;
};
ParsedMetadata parse_upload_metadata(std::string_view text);

// The suffix of a file that begins so: ".json", ".json.gz", ".json.zst", ".digest", ".sqlite", ".pftrace", and
// ".xplane.pb" for other bytes that are no text. It needs at most 4 bytes.
const char* suffix_of_content(std::string_view first_bytes);

}  // namespace skewscope
