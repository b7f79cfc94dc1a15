// Token texts, and payloads that are well signed: no forged text counts, and what counts has one spelling.
#include "src/gather/http/tokens.h"

#include "require.h"
#include "skewscope/protocol/names.h"
#include "skewscope/protocol/sha256.h"

namespace skewscope::gather {
namespace {

const std::string kKey(32, 'k'), kKeyBefore(32, 'b');

using test::require;

std::string signed_token(std::string_view payload) {
  const std::string text = "ss1." + base64url(payload);
  const Digest mac = hmac_sha256(kKey, text);
  return text + "." + base64url({reinterpret_cast<const char*>(mac.data()), mac.size()});
}

}  // namespace
}  // namespace skewscope::gather

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skewscope::gather;
  static const TokenKeys keys = TokenKeys::from({kKey, kKeyBefore});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::chrono::sys_seconds epoch{};
  require(!keys.verify(text, epoch));
  token_trace(text);
  const std::string token = signed_token(text);
  if (const std::optional<TokenPayload> payload = keys.verify(token, epoch)) {
    require(payload->job == "*" || skewscope::is_name(payload->job));
    require(payload->scopes != 0 && payload->scopes <= (kUpload | kRead | kAdmin));
    require(keys.mint(*payload) == token);
  }
  return 0;
}
