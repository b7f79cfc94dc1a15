// Payload: {"epoch":0,"expires":1790000000,"job":"j","key":"1f2e3d4c","scope":"upload read","uid":1000}, as nlohmann
// writes it. Only that spelling is believed: a payload must come out the same when it is written again, so that no two
// texts are one token. The HMAC is made over "ss1.<payload>" and is compared with both keys before anything is parsed.
#include "tokens.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "skewscope/gather.h"
#include "skewscope/protocol/names.h"
#include "skewscope/protocol/sha256.h"
#include "src/gather/kept/aging.h"
#include "src/gather/process/secret_file.h"

namespace skewscope::gather {
namespace {

using nlohmann::json;
using std::chrono::sys_seconds;

constexpr std::string_view kPrefix = "ss1.";
constexpr size_t kLongestToken = 2048;
constexpr std::array<std::pair<const char*, Scope>, 3> kScopes = {
    {{"upload", kUpload}, {"read", kRead}, {"admin", kAdmin}}};

std::string_view as_text(const Digest& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

// Names a key without telling it.
std::string key_id(const std::string& key) { return hex(hmac_sha256(key, "skewscope key id")).substr(0, 8); }

std::string scope_text(unsigned scopes) {
  std::string out;
  for (const auto& [name, scope] : kScopes) {
    if ((scopes & scope) != 0) out += (out.empty() ? "" : " ") + std::string(name);
  }
  return out;
}

unsigned scopes_of(const std::string& text) {
  for (unsigned scopes = 1; scopes < 2 * kAdmin; ++scopes) {
    if (scope_text(scopes) == text) return scopes;
  }
  return 0;
}

bool is_sound(const TokenPayload& payload) {
  if (payload.job == "*") return (payload.scopes & kAdmin) != 0 || payload.scopes == kRead;
  if (user_of(payload)) return payload.scopes != 0 && (payload.scopes & kAdmin) == 0;
  return payload.scopes != 0 && is_name(payload.job);
}

std::string encode(const TokenPayload& payload, const std::string& key) {
  return json{{"job", payload.job},     {"scope", scope_text(payload.scopes)},
              {"uid", payload.uid},     {"expires", payload.expires.time_since_epoch().count()},
              {"epoch", payload.epoch}, {"key", key_id(key)}}
      .dump();
}

// nullopt unless `text` is what encode() makes of the payload with this key.
std::optional<TokenPayload> decode(const std::string& text, const std::string& key) {
  const json document = json::parse(text, nullptr, false);
  const auto number = [&](const char* name, uint64_t most) -> std::optional<uint64_t> {
    const auto found = document.find(name);
    if (found == document.end() || !found->is_number_unsigned() || found->get<uint64_t>() > most) return std::nullopt;
    return found->get<uint64_t>();
  };
  const auto word = [&](const char* name) {
    const auto found = document.find(name);
    return found != document.end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (!document.is_object()) return std::nullopt;
  constexpr uint64_t kMost32 = std::numeric_limits<uint32_t>::max(), kLastSecond = 1ull << 40;
  const auto uid = number("uid", kMost32), expires = number("expires", kLastSecond), epoch = number("epoch", kMost32);
  if (!uid || !expires || !epoch) return std::nullopt;
  TokenPayload out;
  out.job = word("job");
  out.scopes = scopes_of(word("scope"));
  out.uid = static_cast<uint32_t>(*uid);
  out.expires = sys_seconds(std::chrono::seconds(*expires));
  out.epoch = static_cast<uint32_t>(*epoch);
  return is_sound(out) && encode(out, key) == text ? std::optional(out) : std::nullopt;
}

Error refused(const std::string& file, const std::string& what) {
  return Error{ErrorKind::usage, "the token keys in " + file + ": " + what};
}

}  // namespace

bool owns_jobs(uint32_t uid) { return uid != 0 && uid != std::numeric_limits<uint32_t>::max(); }

std::string jobs_of_user(uint32_t uid) { return "@" + std::to_string(uid); }

std::optional<uint32_t> user_of(const TokenPayload& payload) {
  return owns_jobs(payload.uid) && payload.job == jobs_of_user(payload.uid) ? std::optional(payload.uid) : std::nullopt;
}

Result<TokenKeys> TokenKeys::read(const std::string& file) {
  const Result<std::string> text = read_secret_file(file, "openssl rand -hex 32");
  if (!text.ok()) return refused(file, text.error().message);
  std::vector<std::string> keys;
  std::string_view rest = text.value();
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::optional<Digest> key = digest_from_hex(rest.substr(0, end));
    if (!key) {
      return refused(file, "line " + std::to_string(keys.size() + 1) +
                               " is not 64 hexadecimal digits, as openssl rand -hex 32 gives them");
    }
    keys.emplace_back(as_text(*key));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (keys.empty() || keys.size() > 2) {
    return refused(file, "one or two lines are wanted: the key that signs, and the one before it");
  }
  return from(std::move(keys));
}

TokenKeys TokenKeys::from(std::vector<std::string> keys) {
  TokenKeys out;
  out.keys_ = std::move(keys);
  return out;
}

std::string TokenKeys::mint(const TokenPayload& payload) const {
  const std::string signed_text = std::string(kPrefix) + base64url(encode(payload, keys_.front()));
  return signed_text + "." + base64url(as_text(hmac_sha256(keys_.front(), signed_text)));
}

std::optional<TokenPayload> TokenKeys::verify(std::string_view token, sys_seconds now) const {
  const size_t dot = token.rfind('.');
  if (token.size() > kLongestToken || !token.starts_with(kPrefix) || dot < kPrefix.size()) return std::nullopt;
  const std::optional<std::string> mac = from_base64url(token.substr(dot + 1));
  if (!mac || mac->size() != sizeof(Digest)) return std::nullopt;
  const std::string* signer = nullptr;  // all keys are tried: how long it takes does not tell which one it was
  for (const std::string& key : keys_) {
    if (equal_in_constant_time(as_text(hmac_sha256(key, token.substr(0, dot))), *mac)) signer = &key;
  }
  if (signer == nullptr) return std::nullopt;
  const std::optional<std::string> text = from_base64url(token.substr(kPrefix.size(), dot - kPrefix.size()));
  if (!text) return std::nullopt;
  const std::optional<TokenPayload> payload = decode(*text, *signer);
  return payload && payload->expires > now ? payload : std::nullopt;
}

std::string token_trace(std::string_view token) { return hex(sha256(token)).substr(0, 8); }

}  // namespace skewscope::gather

namespace skewscope {

Result<std::string> mint_token(const GatherOptions& options, const TokenRequest& request) {
  using namespace gather;
  TokenPayload payload;
  payload.job = request.job;
  payload.epoch = request.epoch;
  payload.uid = request.uid.value_or(::geteuid());
  for (const std::string& name : request.scopes) {
    const unsigned scope = scopes_of(name);
    if (scope == 0) return Error{ErrorKind::usage, "a token's scope is upload, read or admin, not \"" + name + "\""};
    payload.scopes |= scope;
  }
  if (!is_sound(payload)) {
    return Error{ErrorKind::usage,
                 "a token needs a scope and a job: letters, digits and ._-, at most 64 of them; "
                 "\"*\", every job, with the scope admin, or read alone; \"@UID\", the jobs of a user but root, "
                 "without admin"};
  }
  if (request.life <= std::chrono::seconds(0) || request.life > kLongestTokenLife) {
    return Error{ErrorKind::usage, "a token lives for a second at least and 366 days at most"};
  }
  if (options.token_key_file.empty()) return Error{ErrorKind::usage, "a token needs a file of token keys to sign it"};
  const Result<TokenKeys> keys = TokenKeys::read(options.token_key_file);
  if (!keys.ok()) return keys.error();
  payload.expires = wall_clock() + request.life;
  return keys.value().mint(payload);
}

}  // namespace skewscope
