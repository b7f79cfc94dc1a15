// Bytes of a connection -> Beast's parser -> gate. What is let through is in its bounds, and Beast and the gate agree
// on the body that follows it.
#include "src/gather/gate.h"

#include <algorithm>
#include <cstdlib>

#include "skewscope/protocol/names.h"
#include "src/gather/authorize.h"
#include "tests/gather/beast_gate.h"

namespace skewscope::gather {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

void check(const Request& request) {
  require(request.job.empty() || is_name(request.job));
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

}  // namespace
}  // namespace skewscope::gather

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skewscope::gather;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const Listener listener : {Listener::main, Listener::admin}) {
    const Read read = read_head(bytes, listener);
    if (read.outcome == Read::Outcome::refused) require(read.refused.status >= 400 && read.refused.status < 600);
    if (read.outcome != Read::Outcome::admitted) continue;
    require(read.agrees);
    check(read.request);
  }
  for (const Request& request : requests_in(bytes)) check(request);
  return 0;
}
