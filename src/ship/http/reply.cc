#include "reply.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "skewscope/base/printable.h"
#include "skewscope/protocol/names.h"

namespace skewscope::ship {
namespace {

constexpr size_t kLongestDetail = 200;
constexpr size_t kLongestPath = 512;

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
}

bool same_field(std::string_view name, std::string_view wanted) {
  return std::equal(name.begin(), name.end(), wanted.begin(), wanted.end(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "" where it is no name.
std::string filename_of(std::string_view disposition) {
  constexpr std::string_view kKey = "filename=\"";
  const size_t begin = disposition.find(kKey);
  if (begin == std::string_view::npos) return "";
  const std::string_view rest = disposition.substr(begin + kKey.size());
  const std::string name(rest.substr(0, rest.find('"')));
  return is_name(name) ? name : "";
}

int status_of(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || line.size() < space + 4) return 0;
  const auto status = whole_number(line.substr(space + 1, 3));
  return status && *status >= 100 && *status <= 999 ? static_cast<int>(*status) : 0;
}

std::string shown(const std::string& text) { return printable(text.substr(0, kLongestDetail)); }

// RFC 9457: "detail", else "title".
std::string detail_of(const std::string& body) {
  const auto document = nlohmann::json::parse(body, nullptr, false);
  if (!document.is_object()) return "";
  for (const char* key : {"detail", "title"}) {
    const auto field = document.find(key);
    if (field != document.end() && field->is_string()) return shown(field->get<std::string>());
  }
  return "";
}

}  // namespace

bool ReplyReader::take_line(std::string_view line) {
  head_bytes_ += line.size();
  if (head_bytes_ > kLargestHead) return false;
  if (line.substr(0, 5) == "HTTP/") {
    reply_ = {};
    reply_.status = status_of(line);
    body_.clear();
    return true;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  const std::string_view name = line.substr(0, colon), value = trimmed(line.substr(colon + 1));
  if (same_field(name, "upload-offset")) reply_.offset = whole_number(value);
  if (same_field(name, "upload-length")) reply_.length = whole_number(value);
  if (same_field(name, "repr-digest")) reply_.digest = digest_from_repr(value);
  if (same_field(name, "location")) reply_.location = value;
  if (same_field(name, "skewscope-job") && is_job(value)) reply_.job = value;
  if (same_field(name, "content-disposition")) reply_.filename = filename_of(value);
  if (same_field(name, "retry-after")) {
    constexpr uint64_t kMost = 1'000'000;
    if (const auto seconds = whole_number(value)) {
      reply_.retry_after = std::chrono::seconds(static_cast<int64_t>(std::min(*seconds, kMost)));
    }
  }
  return true;
}

bool ReplyReader::take_body(std::string_view bytes) {
  if (body_.size() + bytes.size() > kLargestBody) return false;
  body_ += bytes;
  return true;
}

Reply ReplyReader::reply() const {
  Reply reply = reply_;
  reply.detail = detail_of(body_);
  return reply;
}

std::optional<std::string> upload_path(std::string_view location, std::string_view base) {
  if (location.substr(0, base.size()) == base) location.remove_prefix(base.size());
  const bool path = location.size() > 1 && location.size() <= kLongestPath && location[0] == '/' && location[1] != '/';
  const bool plain = std::all_of(location.begin(), location.end(), [](unsigned char c) {
    return std::isalnum(c) ||
           (c != 0 && std::string_view("/._-~%?=&").find(static_cast<char>(c)) != std::string_view::npos);
  });
  if (!path || !plain || location.find("..") != std::string_view::npos) return std::nullopt;
  return std::string(location);
}

}  // namespace skewscope::ship
