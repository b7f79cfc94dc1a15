// What a gatherer answers, as the agent reads it: lines of a head, then pieces of a body.
#include "src/ship/http/reply.h"

#include <algorithm>

#include "require.h"

namespace {

using skewscope::test::require;

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 127; });
}

bool is_printable(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; });
}

void check_place(const std::string& location) {
  constexpr std::string_view kBase = "https://head:7475";
  const auto path = skewscope::ship::upload_path(location, kBase);
  if (!path) return;
  require(path->size() > 1 && path->front() == '/' && (*path)[1] != '/');
  require(is_visible(*path) && path->find("..") == std::string::npos);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skewscope::ship;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  ReplyReader reader;
  while (!text.empty()) {  // as libcurl hands it over: with its end, the empty line last
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    if (!reader.take_line(line)) return 0;
    if (line == "\r\n" || line == "\n") break;
  }
  for (size_t bytes = 1; !text.empty(); bytes = 2 * bytes + 1) {
    const std::string_view piece = text.substr(0, bytes);
    text.remove_prefix(piece.size());
    if (!reader.take_body(piece)) return 0;
  }
  const Reply reply = reader.reply();
  require(reply.status == 0 || (reply.status >= 100 && reply.status <= 999));
  require(reply.detail.size() <= 4 * 200 && is_printable(reply.detail));
  if (reply.retry_after) require(reply.retry_after->count() >= 0 && reply.retry_after->count() <= 1'000'000);
  check_place(reply.location);
  check_place(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
