// Upload-Metadata of tus 1.0: "key base64,key base64,..."; skewscope's keys and their bounds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "skewscope/protocol/sha256.h"

namespace skewscope {

struct UploadMetadata {
  std::string job;       // is_name()
  int capture = 0;       // 0..kMostCaptures: which of several captures of one job
  int rank = 0;          // 0..kMostRanks - 1
  std::string filename;  // what the sender calls the file: text to show, never a path
  std::optional<Digest> sha256;
  std::optional<int> world_size;  // 1..kMostRanks
  bool replace = false;           // other content than the file that is there is wanted
};

std::string encode(const UploadMetadata& metadata);
// Every key at most once, unknown keys passed over, `job` and `rank` needed. `problem`: what is wrong, without any of
// the text's own bytes; null when nothing is.
struct ParsedMetadata {
  UploadMetadata metadata;
  const char* problem = nullptr;
};
ParsedMetadata parse_upload_metadata(std::string_view text);

// What a file of such a trace is called where it is kept: ".json", ".json.gz", ".json.zst", ".digest" as its
// first bytes say. Needs at most 4 bytes.
const char* suffix_of_content(std::string_view first_bytes);

}  // namespace skewscope
