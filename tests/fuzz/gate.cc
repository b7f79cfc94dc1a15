// Bytes of a connection -> Beast's parser -> gate. What is let through is in its bounds, and Beast and the gate agree
// on the body that follows it. Half of the inputs are made by moving whole lines: bytes alone hardly ever make a field.
#include "src/gather/http/gate.h"

#include <algorithm>
#include <random>

#include "require.h"
#include "skewscope/protocol/names.h"
#include "src/gather/http/authorize.h"
#include "tests/gather/http/beast_gate.h"

namespace skewscope::gather {
namespace {

using test::require;

bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

void check(const Request& request) {
  require(request.job.empty() || is_job(request.job));
  require(request.upload_id.empty() || request.upload_id.size() == 32);
  require(request.rank >= 0 && request.rank < kMostRanks);
  require(request.capture >= 0 && request.capture <= kMostCaptures);
  require(request.generation >= 0);
  require(request.content_length.value_or(0) <= static_cast<uint64_t>(INT64_MAX));
  for (const std::string* text :
       {&request.host, &request.authorization_scheme, &request.bearer, &request.cookie, &request.content_type,
        &request.range, &request.upload_metadata, &request.upload_length, &request.upload_offset,
        &request.upload_checksum, &request.repr_digest, &request.tus_resumable}) {
    require(is_plain(*text) && text->size() <= kLongestHead);
  }
  for (const auto& [key, value] : request.query) require(!key.empty() && is_plain(value));
  token_of_cookie(request.cookie);
}

constexpr std::string_view kLines[] = {
    "Host: h",
    "Content-Length: 5",
    "Content-Length: 0",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip",
    "Connection: keep-alive",
    "Connection: close",
    "Expect: 100-continue",
    "Trailer: X",
    "Upgrade: h2c",
    "TE: trailers",
    "Tus-Resumable: 1.0.0",
    "Upload-Offset: 0",
    "Upload-Length: 5",
    "Upload-Defer-Length: 1",
    "Upload-Metadata: job ag==,rank MA==",
    "Content-Type: application/offset+octet-stream",
    "Content-Encoding: gzip",
    "Content-Range: bytes 0-4/5",
    "X-HTTP-Method-Override: PATCH",
    "Authorization: Bearer ss1.a.b",
    "Cookie: __Host-skewscope=ss1.a.b",
    " folded",
    "0",
    "",
    "GET / HTTP/1.1",
    "PUT /v1/jobs/j/ranks/0 HTTP/1.1",
};

// Adds, repeats, removes or swaps lines.
std::string with_lines_moved(std::string_view text, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size(); begin += lines.back().size() + 2) {
    lines.push_back(text.substr(begin, text.find("\r\n", begin) - begin));
  }
  const auto at = [&] { return random() % lines.size(); };
  switch (lines.size() < 2 ? 0 : random() % 4) {
    case 0:
      lines.insert(lines.begin() + static_cast<int>(random() % (lines.size() + 1)),
                   kLines[random() % std::size(kLines)]);
      break;
    case 1:
      lines.insert(lines.begin() + static_cast<int>(at()), lines[at()]);
      break;
    case 2:
      lines.erase(lines.begin() + static_cast<int>(at()));
      break;
    default:
      std::swap(lines[at()], lines[at()]);
  }
  std::string out;
  for (const std::string_view line : lines) out.append(line).append("\r\n");
  return out;
}

}  // namespace
}  // namespace skewscope::gather

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's own
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string out = skewscope::gather::with_lines_moved({reinterpret_cast<const char*>(data), size}, seed);
  const size_t length = std::min(out.size(), most);
  std::copy_n(out.begin(), length, data);
  return length;
}

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skewscope::gather;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const Listener listener : {Listener::main, Listener::admin}) {
    const Read read = read_with_beast(bytes, listener);
    if (read.outcome == Read::Outcome::refused) require(read.refused.status >= 400 && read.refused.status < 600);
    if (read.outcome != Read::Outcome::admitted) continue;
    require(read.agrees);
    check(read.request);
  }
  for (const Request& request : requests_in(bytes)) check(request);
  return 0;
}
