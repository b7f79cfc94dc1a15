// Signatures: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
#include "target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "skewscope/libcurl/request.h"
#include "skewscope/protocol/sha256.h"
#include "src/gather/process/secret_file.h"

namespace skewscope::gather {
namespace {

constexpr std::string_view kSecretPrefix = "whsec_";
constexpr size_t kLeastKey = 24, kMostKey = 64;  // bytes, as the specification asks for

Error misused(const std::string& what) { return {ErrorKind::usage, what}; }

std::string_view text_of(const Digest& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

Result<std::vector<std::string>> keys_in(const std::string& file) {
  const auto wrong = [&](const std::string& what) { return misused("the webhook's secret in " + file + ": " + what); };
  const Result<std::string> text = read_secret_file(file, "echo whsec_$(openssl rand -base64 32)");
  if (!text.ok()) return wrong(text.error().message);
  std::vector<std::string> keys;
  std::string_view rest = text.value();
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    const auto key = line.starts_with(kSecretPrefix) ? from_base64(line.substr(kSecretPrefix.size())) : std::nullopt;
    if (!key || key->size() < kLeastKey || key->size() > kMostKey)
      return wrong("a line is whsec_ and the base64 of 24 to 64 random bytes");
    keys.push_back(*key);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (keys.empty() || keys.size() > 2) return wrong("one or two lines are wanted; both sign");
  return keys;
}

Result<Done> check_url(const std::string& url) {
  try {
    const auto parts = parse_url(url);
    const bool http = parts && parts->scheme == "http";
    if (!parts || parts->host.empty() || !(http || parts->scheme == "https"))
      return misused("--webhook needs a URL, https://HOST[:PORT]/PATH");
    if (!parts->user.empty() || !parts->password.empty()) return misused("--webhook takes no user and password");
    if (http && !is_this_machine(parts->host)) return misused("--webhook: plain http only on loopback, else https");
  } catch (const std::runtime_error& error) {
    return misused(fmt::format("--webhook: {}", error.what()));
  }
  return Done{};
}

}  // namespace

Result<std::shared_ptr<const WebhookTarget>> webhook_target_of(const GatherOptions& options) {
  const GatherWebhook& webhook = options.webhook;
  if (webhook.url.empty()) {
    if (!webhook.secret_file.empty()) return misused("--webhook-secret-file needs --webhook URL");
    return std::shared_ptr<const WebhookTarget>();
  }
  if (const auto checked = check_url(webhook.url); !checked.ok()) return checked.error();
  if (webhook.secret_file.empty()) return misused("--webhook needs --webhook-secret-file FILE, to sign what it sends");
  auto keys = keys_in(webhook.secret_file);
  if (!keys.ok()) return keys.error();
  return std::shared_ptr<const WebhookTarget>(
      std::make_shared<WebhookTarget>(WebhookTarget{webhook, std::move(keys).value()}));
}

std::string without_path(const std::string& url) {
  const size_t host = url.find("://");
  const size_t path = host == std::string::npos ? host : url.find_first_of("/?#", host + 3);
  if (path == std::string::npos || path + 1 == url.size()) return url;
  return fmt::format("{}/... (SHA-256 {})", url.substr(0, path), hex(sha256(url)).substr(0, 8));
}

std::string signature_of(const std::vector<std::string>& keys, const std::string& id, int64_t timestamp,
                         const std::string& body) {
  std::string out;
  const std::string signed_text = fmt::format("{}.{}.{}", id, timestamp, body);
  for (const std::string& key : keys) {
    out += (out.empty() ? "v1," : " v1,") + base64(text_of(hmac_sha256(key, signed_text)));
  }
  return out;
}

}  // namespace skewscope::gather
