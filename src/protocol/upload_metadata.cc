#include "skewscope/protocol/upload_metadata.h"

#include <charconv>
#include <set>

#include "skewscope/protocol/names.h"

namespace skewscope {
namespace {

using namespace std::string_view_literals;

constexpr size_t kLongestFilename = 255;

template <class Number>
std::optional<Number> whole_number(std::string_view text, Number least, Number most) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && text.front() != '-';
  return whole && value >= least && value <= most ? std::optional(value) : std::nullopt;
}

// Of two formats of protobuf that begin alike: a profile of JAX with a plane, whose first field is its number or name;
// a trace of Perfetto with a packet, whose fields are 6 and more.
bool begins_with_packet(std::string_view bytes) {
  constexpr unsigned kLeastTag = 6 << 3;
  size_t at = 1;  // of the length
  while (at < bytes.size() && (static_cast<unsigned char>(bytes[at]) & 0x80U) != 0) ++at;
  return at + 1 < bytes.size() && bytes[0] == '\n' && static_cast<unsigned char>(bytes[at + 1]) >= kLeastTag;
}

const char* take(UploadMetadata& metadata, std::string_view key, const std::string& value) {
  const auto number = [&](auto& field, int least, int most) {
    const std::optional<int> read = whole_number(value, least, most);
    if (read) field = *read;
    return read.has_value();
  };
  if (key == "job") {
    metadata.job = value;
    return is_name(value) ? nullptr : "job is no valid name";
  }
  if (key == "capture") return number(metadata.capture, 0, kMostDumpMinute) ? nullptr : "capture is no valid number";
  if (key == "rank") return number(metadata.rank, 0, kMostRanks - 1) ? nullptr : "rank is no valid number";
  if (key == "ranks") return number(metadata.ranks, 1, kMostRanks) ? nullptr : "ranks is no valid number";
  if (key == "world_size") {
    return number(metadata.world_size, 1, kMostRanks) ? nullptr : "world_size is no valid number";
  }
  if (key == "filename") {
    metadata.filename = value;
    return value.size() <= kLongestFilename ? nullptr : "filename is too long";
  }
  if (key == "sha256") {
    metadata.sha256 = digest_from_hex(value);
    return metadata.sha256 ? nullptr : "sha256 is not 64 hexadecimal digits";
  }
  if (key == "age") {
    metadata.age_s = whole_number<int64_t>(value, 0, kLongestAge_s);
    return metadata.age_s ? nullptr : "age is no number of seconds";
  }
  if (key == "replace") metadata.replace = value == "1" || value == "true";
  if (key == "grows") metadata.grows = value == "1" || value == "true";
  return nullptr;
}

}  // namespace

std::string encode(const UploadMetadata& metadata) {
  std::string out = "job " + base64(metadata.job) + ",capture " + base64(std::to_string(metadata.capture)) + ",rank " +
                    base64(std::to_string(metadata.rank));
  if (metadata.ranks > 1) out += ",ranks " + base64(std::to_string(metadata.ranks));
  if (!metadata.filename.empty()) out += ",filename " + base64(metadata.filename);
  if (metadata.sha256) out += ",sha256 " + base64(hex(*metadata.sha256));
  if (metadata.world_size) out += ",world_size " + base64(std::to_string(*metadata.world_size));
  if (metadata.age_s) out += ",age " + base64(std::to_string(*metadata.age_s));
  if (metadata.replace) out += ",replace " + base64("1");
  if (metadata.grows) out += ",grows " + base64("1");
  return out;
}

ParsedMetadata parse_upload_metadata(std::string_view text) {
  ParsedMetadata out;
  std::set<std::string_view> seen;
  while (!text.empty() && out.problem == nullptr) {
    std::string_view pair = text.substr(0, text.find(','));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    while (!pair.empty() && pair.front() == ' ') pair.remove_prefix(1);
    const size_t space = std::min(pair.find(' '), pair.size());
    const std::string_view key = pair.substr(0, space);
    const std::optional<std::string> value = from_base64(pair.substr(std::min(space + 1, pair.size())));
    if (key.empty()) {
      out.problem = "a key is empty";
    } else if (!seen.insert(key).second) {
      out.problem = "a key is there twice";
    } else if (!value) {
      out.problem = "a value is not base64";
    } else {
      out.problem = take(out.metadata, key, *value);
    }
  }
  if (out.problem == nullptr && (!seen.count("job") || !seen.count("rank"))) out.problem = "job and rank are needed";
  if (out.problem == nullptr && out.metadata.ranks > kMostRanks - out.metadata.rank)
    out.problem = "ranks is no valid number";
  return out;
}

const char* suffix_of_content(std::string_view first_bytes) {
  if (first_bytes.substr(0, 2) == "\x1f\x8b"sv) return ".json.gz";
  if (first_bytes.substr(0, 4) == "\x28\xb5\x2f\xfd"sv) return ".json.zst";
  if (first_bytes.substr(0, 4) == "\x89ske"sv) return ".digest";
  if (first_bytes.substr(0, 4) == "SQLi"sv) return ".sqlite";
  if (first_bytes.substr(0, 3) == "\xef\xbb\xbf"sv) return ".json";
  const size_t first = first_bytes.find_first_not_of(" \t\r\n");
  const bool text = first == std::string_view::npos || first_bytes[first] == '{' || first_bytes[first] == '[';
  if (text) return ".json";
  return begins_with_packet(first_bytes) ? ".pftrace" : ".xplane.pb";
}

}  // namespace skewscope
